"""DescribeCluster, versions 0-1 (KIP-700, 919): cluster id, controller and brokers.

Version notes: v1 asks brokers (1) or controllers (2); this is a broker's listener, so asking for controllers is a
mistake. The controller shown is a
living broker: every broker takes the requests that a controller takes.
"""

from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from ..dispatch.call import Call
from ..security.authorization.access import cluster_operations

if TYPE_CHECKING:
    from ..services import Services

BROKERS = 1
CONTROLLERS = 2


def handle(services: "Services", request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    _check_endpoint_type(request.endpoint_type, call.version)
    cluster = services.cluster
    reachable = ((node, node.endpoints.get(call.peer.listener)) for node in cluster.brokers.values())
    brokers = tuple(
        DescribeClusterBroker(broker_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack)
        for node, endpoint in reachable
        if endpoint is not None
    )
    ids = [node.broker_id for node in brokers]
    return DescribeClusterResponse(
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id if cluster.controller_id in ids else -1,
        brokers=brokers,
        cluster_authorized_operations=cluster_operations(call.access, request.include_cluster_authorized_operations),
    )


def refuse(request: DescribeClusterRequest, error: ApiError, call: Call) -> DescribeClusterResponse:
    return DescribeClusterResponse(error_code=error.code, error_message=error.message)


def _check_endpoint_type(endpoint_type: int, version: int) -> None:
    if endpoint_type == BROKERS:
        return
    if endpoint_type == CONTROLLERS:
        code, fault = ErrorCode.MISMATCHED_ENDPOINT_TYPE, "this is the endpoint of a broker, not of a controller"
    else:
        code, fault = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"endpoint type {endpoint_type} is not known"
    raise ApiError(fault, code if version >= 1 else ErrorCode.INVALID_REQUEST)
