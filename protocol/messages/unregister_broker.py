"""UnregisterBroker (key 64), version 0, flexible in all: removes a broker from the metadata (KIP-631)."""

from ..schema import int16, int32, message, string


@message(versions="0", flexible="0+")
class UnregisterBrokerRequest:
    """The broker."""

    broker_id: int = int32()


@message(versions="0", flexible="0+")
class UnregisterBrokerResponse:
    """How that went."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
