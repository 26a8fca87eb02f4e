"""A record as an application hands it over, and what may change it on its way."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from ..protocol.records.record import Header
from .accumulator.batch_outcome import RecordMetadata
from .errors import ProducerError

MAX_TIMESTAMP_MS: Final = 2**63 - 1

Headers = Iterable[Header] | Mapping[str, bytes | None]


class ProducerInterceptor(Protocol):
    """May change a record before it is sent, and sees its end."""

    def on_send(self, record: "ProducerRecord") -> "ProducerRecord": ...

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None: ...


class ProducerRecord:
    """What `send` was called with. Raises: ValueError for a partition or timestamp that cannot be."""

    __slots__ = ("headers", "key", "partition", "timestamp", "topic", "value")

    def __init__(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers = (),
    ) -> None:
        ensure_valid(topic, partition, timestamp)
        self.topic, self.value, self.key = topic, value, key
        self.partition, self.timestamp = partition, timestamp
        self.headers = headers_of(headers)


def ensure_valid(topic: str, partition: int | None, timestamp: int | None) -> None:
    """Raises: ValueError for a negative partition or timestamp, or a timestamp of more than 63 bits."""
    if partition is not None and partition < 0:
        raise ValueError(f"partition {partition} of {topic} is negative")
    if timestamp is not None and timestamp < 0:
        raise ValueError(f"timestamp {timestamp} is negative")
    if timestamp is not None and timestamp > MAX_TIMESTAMP_MS:
        raise ValueError(f"timestamp {timestamp} has more than 63 bits")


def headers_of(given: Headers) -> tuple[Header, ...]:
    """The headers in order; a mapping gives its items."""
    return tuple(given.items()) if isinstance(given, Mapping) else tuple(given)
