"""An asyncio producer that sticks (KIP-480), splits (KIP-126) and gives up in time (KIP-91); transactions too."""

from .delivery import Delivery, RecordMetadata
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
from .partitioners.partitioner import Partitioner, RoundRobin, Sticky, TopicView, UniformSticky
from .producer import Producer
from .record import ProducerInterceptor, ProducerRecord
from .settings_typed_dict import Settings
from .transactions.offset_and_group_metadata import GroupMetadata, OffsetAndMetadata

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
    "Settings",
    "Sticky",
    "Timeout",
    "TopicView",
    "TransactionAborted",
    "UniformSticky",
    "WrongState",
]
