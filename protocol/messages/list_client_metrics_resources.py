"""ListClientMetricsResources (key 74), version 0, flexible in all.

Lists the names of client metrics subscriptions (KIP-714).
"""

from collections.abc import Sequence

from ..schema import array, int16, int32, message, string, struct


@message(versions="0", flexible="0+")
class ListClientMetricsResourcesRequest:
    """Nothing is asked."""


@struct
class ClientMetricsResource:
    name: str = string()


@message(versions="0", flexible="0+")
class ListClientMetricsResourcesResponse:
    """The names."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_metrics_resources: Sequence[ClientMetricsResource] = array(ClientMetricsResource)
