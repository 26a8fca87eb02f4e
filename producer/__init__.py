"""An asyncio producer that sticks (KIP-480), splits (KIP-126) and gives up in time (KIP-91); transactions too."""

from .consumed import GroupMetadata, OffsetAndMetadata
from .delivery import Delivery
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
from .outcome import RecordMetadata
from .partitioners import Partitioner, RoundRobin, Sticky, TopicView, UniformSticky
from .producer import Producer
from .producer_record import ProducerInterceptor, ProducerRecord

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
