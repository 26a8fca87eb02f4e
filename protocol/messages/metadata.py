"""Metadata (key 3), versions 0–12, flexible from 9: tells brokers, topics, partitions and their leaders.

No topics asked: v0 an empty array means all; v1+ null means all, empty means none. v4 adds
`allow_auto_topic_creation`, v8 authorized operations, v10 topic ids, v12 lookup by topic id. Cluster-wide authorized
operations only in v8–v10.
"""

from collections.abc import Sequence
from uuid import UUID

from ..schema import array, boolean, int16, int32, message, string, struct, uuid


@struct
class MetadataRequestTopic:
    topic_id: UUID = uuid("10+", ignorable=True)
    name: str | None = string(nullable="10+")


@message(versions="0-12", flexible="9+")
class MetadataRequest:
    """The topics to describe; None: all."""

    topics: Sequence[MetadataRequestTopic] | None = array(MetadataRequestTopic, nullable="1+")
    allow_auto_topic_creation: bool = boolean("4+", default=True)
    include_cluster_authorized_operations: bool = boolean("8-10")
    include_topic_authorized_operations: bool = boolean("8+")


@struct
class MetadataResponseBroker:
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string("1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32("7+", default=-1, ignorable=True)
    replica_nodes: Sequence[int] = array(int32)
    isr_nodes: Sequence[int] = array(int32)
    offline_replicas: Sequence[int] = array(int32, "5+", ignorable=True)


@struct
class MetadataResponseTopic:
    error_code: int = int16()
    name: str | None = string(nullable="12+")
    topic_id: UUID = uuid("10+", ignorable=True)
    is_internal: bool = boolean("1+", ignorable=True)
    partitions: Sequence[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32("8+", default=-2147483648)


@message(versions="0-12", flexible="9+")
class MetadataResponse:
    """Brokers, and what is known of each topic."""

    throttle_time_ms: int = int32("3+", ignorable=True)
    brokers: Sequence[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = string("2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = int32("1+", default=-1, ignorable=True)
    topics: Sequence[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32("8-10", default=-2147483648)
