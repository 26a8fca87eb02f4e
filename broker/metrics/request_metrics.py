"""Metrics of each request; the labelled metric objects are looked up once per API and version, not per request."""

from ...network.metrics.counts import Counter, Histogram
from .metrics import Metrics


class RequestMeter:
    """The instruments of one API in one version, which is one that is served: clients must not choose labels."""

    __slots__ = ("_deprecated", "_labels", "_local", "_remote", "_requests", "_send", "_size", "_throttle", "_total")

    def __init__(self, metrics: Metrics, api_name: str, version: int) -> None:
        label = str(version)
        phase = metrics.request_duration.of
        self._labels = api_name, label
        self._deprecated = metrics.deprecated_requests
        self._throttle = metrics.throttle_seconds
        self._requests: Counter = metrics.requests.of(api_name, label)
        self._size: Histogram = metrics.request_size.of(api_name)
        self._local: Histogram = phase(api_name, "local", label)
        self._remote: Histogram = phase(api_name, "remote", label)
        self._send: Histogram = phase(api_name, "send", label)
        self._total: Histogram = phase(api_name, "total", label)

    def observe_handling(self, size_bytes: int, seconds: float, waited_s: float) -> None:
        """A request of `size_bytes` took `seconds`, for `waited_s` of which it was parked."""
        self._requests.value += 1.0
        self._size.observe(size_bytes)
        self._local.observe(seconds - waited_s)
        if waited_s:
            self._remote.observe(waited_s)
        else:
            self._remote.observe_zero()

    def observe_sending(self, seconds: float, total_s: float) -> None:
        """Its answer took `seconds` to send, `total_s` since the request came."""
        self._send.observe(seconds)
        self._total.observe(total_s)

    def count_throttling(self, throttle_ms: int) -> None:
        """Its client has to wait that long."""
        self._throttle.of(self._labels[0]).value += throttle_ms / 1000

    def count_deprecation(self, software_name: str, software_version: str) -> None:
        """It was in a version that should not be used any more, by this software."""
        self._deprecated.of(*self._labels, software_name, software_version).value += 1.0
