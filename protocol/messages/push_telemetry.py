"""PushTelemetry (key 72), version 0, flexible in all: carries metrics from a client (KIP-714)."""

from uuid import UUID

from ..schema import binary, boolean, int8, int16, int32, message, uuid


@message(versions="0", flexible="0+")
class PushTelemetryRequest:
    """Metrics of one client instance."""

    client_instance_id: UUID = uuid()
    subscription_id: int = int32()
    terminating: bool = boolean()
    compression_type: int = int8()
    metrics: bytes = binary()


@message(versions="0", flexible="0+")
class PushTelemetryResponse:
    """How that went."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
