"""The metrics that the serving side updates; the code that makes a server passes them to it."""

from typing import Protocol


class Counter(Protocol):
    """A number that only grows."""

    def add(self, amount: float = 1.0, /) -> None: ...


class Counters(Protocol):
    """One counter for each set of label values."""

    def of(self, *values: str) -> Counter: ...


class SentBytes(Protocol):
    """Counts bytes of record batches that were sent by `sendfile`, or from a buffer of this process."""

    @property
    def sendfile_bytes(self) -> Counter: ...

    @property
    def copied_bytes(self) -> Counter: ...


class RequestMeter(Protocol):
    """Counts the requests of one API in one version."""

    def observe_handling(self, size_bytes: int, seconds: float, waited_s: float) -> None:
        """Counts a request of `size_bytes` that took `seconds`, including `waited_s` in which it was parked."""

    def observe_sending(self, seconds: float, total_s: float) -> None:
        """Counts an answer that was sent in `seconds`, `total_s` after the request came."""

    def count_throttling(self, throttle_ms: int) -> None:
        """Counts a throttled request."""
