"""GetTelemetrySubscriptions (key 71), version 0, flexible in all: tells a client which metrics to push (KIP-714)."""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, boolean, int8, int16, int32, message, string, uuid


@message(versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest:
    """A client instance."""

    client_instance_id: UUID = uuid()


@message(versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse:
    """Its subscription."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_instance_id: UUID = uuid()
    subscription_id: int = int32()
    accepted_compression_types: Sequence[int] = array(int8)
    push_interval_ms: int = int32()
    telemetry_max_bytes: int = int32()
    delta_temporality: bool = boolean()
    requested_metrics: Sequence[str] = array(string)
