"""ListClientMetricsResources, version 0 (KIP-1000): subscriptions of client metrics. None: clients' metrics are not
collected."""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError
from ...protocol.messages.list_client_metrics_resources import (
    ListClientMetricsResourcesRequest,
    ListClientMetricsResourcesResponse,
)
from ..dispatch.call import Call

if TYPE_CHECKING:
    from ..services import Services


def handle(
    services: "Services", request: ListClientMetricsResourcesRequest, call: Call
) -> ListClientMetricsResourcesResponse:
    return ListClientMetricsResourcesResponse()


def refuse(
    request: ListClientMetricsResourcesRequest, error: ApiError, call: Call
) -> ListClientMetricsResourcesResponse:
    return ListClientMetricsResourcesResponse(error_code=error.code)
