"""DescribeCluster (key 60), versions 0–1, flexible in all.

Tells the brokers of the cluster (KIP-700). v1 adds the endpoint type, for controllers.
"""

from collections.abc import Sequence

from ..schema import array, boolean, int8, int16, int32, message, string, struct


@message(versions="0-1", flexible="0+")
class DescribeClusterRequest:
    """What to tell."""

    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=1)


@struct
class DescribeClusterBroker:
    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)


@message(versions="0-1", flexible="0+")
class DescribeClusterResponse:
    """Brokers, controller and cluster id."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    endpoint_type: int = int8("1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: Sequence[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=-2147483648)
