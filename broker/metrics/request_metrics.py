"""Metrics of each request; the labelled metric objects are looked up once per API and version, not per request."""

from ...network.metrics.counts import Counter, Histogram
from .metrics import Metrics


class RequestMeter:
    """The instruments of one API in one served version: clients must not choose labels."""

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
        """Counts a request of `size_bytes` that took `seconds`; it was parked for `waited_s` of them."""
        self._requests.value += 1.0
        self._size.observe(size_bytes)
        self._local.observe(seconds - waited_s)
        if waited_s:
            self._remote.observe(waited_s)
        else:
            self._remote.observe_zero()

    def observe_sending(self, seconds: float, total_s: float) -> None:
        """Observes that sending the answer took `seconds`, and the request `total_s` in all."""
        self._send.observe(seconds)
        self._total.observe(total_s)

    def count_throttling(self, throttle_ms: int) -> None:
        """Counts the time that a client has to wait."""
        self._throttle.of(self._labels[0]).value += throttle_ms / 1000

    def count_deprecation(self, software_name: str, software_version: str) -> None:
        """Counts a request in a deprecated version, by the client's software."""
        self._deprecated.of(*self._labels, software_name, software_version).value += 1.0
