"""What the serving side counts with; the maker of a server hands these instruments to it."""

from typing import Protocol


class Counter(Protocol):
    """Goes up."""

    def add(self, amount: float = 1.0, /) -> None: ...


class Counters(Protocol):
    """Counters told apart by the values of their labels."""

    def of(self, *values: str) -> Counter: ...


class SentBytes(Protocol):
    """Bytes of record batches that were sent: by `sendfile`, and through a buffer of this process."""

    @property
    def sendfile_bytes(self) -> Counter: ...

    @property
    def copied_bytes(self) -> Counter: ...


class RequestMeter(Protocol):
    """Counts the requests of one API in one version."""

    def observe_handling(self, size_bytes: int, seconds: float, waited_s: float) -> None:
        """A request of `size_bytes` took `seconds`, of which it was parked for `waited_s`."""

    def observe_sending(self, seconds: float, total_s: float) -> None:
        """Its answer took `seconds` to send, `total_s` since the request came."""

    def count_throttling(self, throttle_ms: int) -> None:
        """Its client has to wait for that long."""
