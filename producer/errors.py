"""The errors of deliveries and of calls on the producer.

`code`: the broker's error, if there was one. As in Kafka, an application may retry after a `Timeout`, and cannot use a
`Fenced` producer any more. Python's exceptions of the same meaning are bases: TimeoutError, BufferError, ValueError,
RuntimeError.
"""

from asyncio import CancelledError
from typing import Final

from ..protocol.errors import ErrorCode

FOREIGN_FAULTS: Final = (Exception, CancelledError)
"""Exceptions of callbacks, interceptors and partitioners, which must not harm other records."""


class ProducerError(Exception):
    """The record was not, or may not have been, written."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(message)
        self.code = code


class BrokerError(ProducerError):
    """A broker refused with `code`, and a retry was useless or not allowed any more."""


class Timeout(ProducerError, TimeoutError):
    """Not done in time: `delivery.timeout.ms` for a record, `max.block.ms` for a call."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.REQUEST_TIMED_OUT) -> None:
        super().__init__(message, code)


class BufferExhausted(Timeout, BufferError):
    """`buffer.memory` stayed full for `max.block.ms`, or too many records wait for memory or metadata."""


class RecordTooLarge(ProducerError, ValueError):
    """One record is above `max.request.size`, `buffer.memory`, or what the broker takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ErrorCode.MESSAGE_TOO_LARGE)


class ProducerClosed(ProducerError, RuntimeError):
    """The producer was closed before the record was acknowledged, or before it was sent."""


class Serialization(ProducerError, ValueError):
    """A serializer failed, or returned no bytes."""


class Fenced(ProducerError):
    """The broker knows a later epoch of the producer's id, so this producer cannot go on."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.PRODUCER_FENCED) -> None:
        super().__init__(message, code)


class AuthenticationFailed(ProducerError):
    """A broker refused the login, or could not authenticate itself; a retry is useless."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        super().__init__(message, code)


class WrongState(ProducerError, RuntimeError):
    """The call is not allowed in this state: outside of a transaction, say, or before a timed-out call is repeated."""


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
"""Errors after which metadata is asked for again."""


def error_of(code: ErrorCode, message: str) -> ProducerError:
    """The exception for a broker's error."""
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        return RecordTooLarge(message)
    if code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH):
        return Fenced(message, code)
    if code is ErrorCode.REQUEST_TIMED_OUT:
        return Timeout(message)
    return BrokerError(message, code)
