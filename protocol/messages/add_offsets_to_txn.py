"""AddOffsetsToTxn (key 25), versions 0–4, flexible from 3.

Tells the transaction coordinator that a group's offsets will be committed.
"""

from ..schema import int16, int32, int64, message, string


@message(versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest:
    """The transaction and the group."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    group_id: str = string()


@message(versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse:
    """How that went."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
