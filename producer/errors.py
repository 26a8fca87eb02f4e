"""What a record's future, or a call on the producer, can end with.

`code` is the broker's error where it was one. The families follow Kafka's: a `Timeout` may be tried again by the
application, a `Fenced` producer is at its end. Those of Python that mean the same are bases: TimeoutError, BufferError,
ValueError, RuntimeError.
"""

from asyncio import CancelledError
from typing import Final

from ..protocol.errors import ErrorCode

FOREIGN_FAULTS: Final = (Exception, CancelledError)
"""What a callback, an interceptor or a partitioner may raise without harm to other records."""


class ProducerError(Exception):
    """The record was not, or may not have been, written."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(message)
        self.code = code


class BrokerError(ProducerError):
    """A broker refused with `code`, and trying again was no use or no longer allowed."""


class Timeout(ProducerError, TimeoutError):
    """Not done in time: `delivery.timeout.ms` for a record, `max.block.ms` for a call."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.REQUEST_TIMED_OUT) -> None:
        super().__init__(message, code)


class BufferExhausted(Timeout, BufferError):
    """`buffer.memory` stayed full for `max.block.ms`, or as many records wait for memory or metadata as may."""


class RecordTooLarge(ProducerError, ValueError):
    """One record is above `max.request.size`, `buffer.memory`, or what the broker takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.MESSAGE_TOO_LARGE)


class ProducerClosed(ProducerError, RuntimeError):
    """The producer was closed before the record was acknowledged, or before it was sent."""


class Serialization(ProducerError, ValueError):
    """A serializer failed, or returned no bytes."""


class Fenced(ProducerError):
    """The broker knows a later epoch of the producer's id: it may not go on."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.PRODUCER_FENCED) -> None:
        super().__init__(message, code)


class AuthenticationFailed(ProducerError):
    """A broker did not believe who the producer is, or could not show who it is itself; trying again is no use."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        super().__init__(message, code)


class WrongState(ProducerError, RuntimeError):
    """The call is not allowed now: outside of a transaction, within one, or before a call that has to be repeated."""


class TransactionAborted(ProducerError):
    """The record was not sent, because its transaction was aborted before."""


FATAL_CODES = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
"""After one of these on a batch an idempotent producer writes nothing more."""

INVALID_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Answers that also tell that what is known of the cluster is out of date."""


def error_of(code: ErrorCode, message: str) -> ProducerError:
    """The exception that stands for a broker's answer."""
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        return RecordTooLarge(message)
    if code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH):
        return Fenced(message, code)
    if code is ErrorCode.REQUEST_TIMED_OUT:
        return Timeout(message)
    return BrokerError(message, code)
