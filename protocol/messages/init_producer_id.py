"""InitProducerId (key 22), versions 0–5, flexible from 2.

Hands out a producer id and epoch. v3 lets a producer raise its epoch (KIP-360), v4–v5 add error codes.
"""

from ..schema import int16, int32, int64, message, string


@message(versions="0-5", flexible="2+")
class InitProducerIdRequest:
    """A producer, transactional or not."""

    transactional_id: str | None = string(nullable="0+")
    transaction_timeout_ms: int = int32()
    producer_id: int = int64("3+", default=-1)
    producer_epoch: int = int16("3+", default=-1)


@message(versions="0-5", flexible="2+")
class InitProducerIdResponse:
    """Its id and epoch."""

    throttle_time_ms: int = int32(ignorable=True)
    error_code: int = int16()
    producer_id: int = int64(default=-1)
    producer_epoch: int = int16()
