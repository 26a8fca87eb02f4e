"""EndTxn (key 26), versions 0–4, flexible from 3: commits or aborts a transaction."""

from ..schema import boolean, int16, int32, int64, message, string


@message(versions="0-4", flexible="3+")
class EndTxnRequest:
    """The transaction and its end."""

    transactional_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    committed: bool = boolean()


@message(versions="0-4", flexible="3+")
class EndTxnResponse:
    """How that went."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
