"""An asyncio producer that sticks (KIP-480), splits (KIP-126) and gives up in time (KIP-91); transactions too."""

from .accumulator.batch_outcome import RecordMetadata
from .errors import (
    AuthenticationFailed,
    BrokerError,
    BufferExhausted,
    Fenced,
    ProducerClosed,
    ProducerError,
    RecordTooLarge,
    Serialization,
    Timeout,
    TransactionAborted,
    WrongState,
)
from .future import Delivery
from .partitioners.partitioner import Partitioner, RoundRobin, Sticky, TopicView, UniformSticky
from .producer import Producer
from .record import ProducerInterceptor, ProducerRecord
from .transactions.consumed_offsets import GroupMetadata, OffsetAndMetadata

__all__ = [
    "AuthenticationFailed",
    "BrokerError",
    "BufferExhausted",
    "Delivery",
    "Fenced",
    "GroupMetadata",
    "OffsetAndMetadata",
    "Partitioner",
    "Producer",
    "ProducerClosed",
    "ProducerError",
    "ProducerInterceptor",
    "ProducerRecord",
    "RecordMetadata",
    "RecordTooLarge",
    "RoundRobin",
    "Serialization",
    "Sticky",
    "Timeout",
    "TopicView",
    "TransactionAborted",
    "UniformSticky",
    "WrongState",
]
