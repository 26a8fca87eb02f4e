"""A record as an application hands it over, and what may change it on its way."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from ..protocol.records.record import Header
from .delivery import RecordMetadata
from .errors import ProducerError

MAX_TIMESTAMP_MS: Final = 2**63 - 1
MAX_PARTITION: Final = 2**31 - 1
MAX_TOPIC_LENGTH: Final = 249
"""Kafka: `Topic.MAX_NAME_LENGTH`."""

Headers = Iterable[Header] | Mapping[str, bytes | None] | None
Serializer = Callable[[str, Any, Sequence[Header]], bytes | None]
"""Takes topic, object and headers."""


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
    """Raises: ValueError for a topic, partition or timestamp that cannot be, TypeError for one of another type."""
    if not isinstance(topic, str):
        raise TypeError(f"a topic is a str, found {type(topic).__name__}")
    # Most names are found good by this alone. A broker has more to say about a name; a request cannot even hold these.
    if not topic or (not topic.isascii() and not _encodes(topic)) or len(topic) > MAX_TOPIC_LENGTH:
        raise ValueError(f"{topic[:40]!r} cannot be a topic: it is empty, too long, or no Unicode text")
    if partition is not None:
        _ensure_number("partition", partition, MAX_PARTITION)
    if timestamp is not None:
        _ensure_number("timestamp", timestamp, MAX_TIMESTAMP_MS)


def ensure_callable(callback: object) -> None:
    """Raises: TypeError for what cannot be called."""
    if not callable(callback):
        raise TypeError(f"a callback is called with metadata and error, found {type(callback).__name__}")


def _ensure_number(name: str, number: int, most: int) -> None:
    if not isinstance(number, int):
        raise TypeError(f"a {name} is an int, found {type(number).__name__} ({number!r})")
    if number < 0:
        raise ValueError(f"{name} {number} is negative")
    if number > most:
        raise ValueError(f"{name} {number} has more than {most.bit_length()} bits")


def _encodes(topic: str) -> bool:
    try:
        topic.encode()
    except UnicodeEncodeError:
        return False
    return True


def headers_of(given: Headers) -> tuple[Header, ...]:
    """The headers in order; a mapping gives its items, None none."""
    if given is None:
        return ()
    return tuple(given.items()) if isinstance(given, Mapping) else tuple(given)
