"""Metadata, versions 0-12: brokers, and the topics asked for, with leaders and replicas.

Asking for a topic that is not there creates it, if the broker and (from v4) the request allow it. As with Kafka, the
answer does not show it yet: the client asks again. Version notes:

- v0 asks for all topics by an empty list, v1+ by null; v1+ controller, v2+ cluster id, v5+ offline replicas, v7+
  leader epochs, v8+ authorized operations, v10+ topic ids. v12 asks by topic id; v10-v11 have the field but may not
  use it.
- A topic just created is answered with UNKNOWN_TOPIC_OR_PARTITION, as KRaft does, from v4 on. Before, with
  LEADER_NOT_AVAILABLE as brokers with ZooKeeper did: librdkafka before 1.5 (v0-v2) fails a topic's messages for good
  when a topic is unknown.
- Topics that the client may not see are TOPIC_AUTHORIZATION_FAILED, whether they are there or not, and left out where
  all are asked for.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from ...network.turn import Turn
from ...protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from ...protocol.plural import plural
from ..dispatch.call import Call
from ..metadata.image import MetadataImage, Topic
from ..metadata.partition import Partition
from ..metadata.topic_rules import INTERNAL_TOPICS, check_new_partition_count, is_legal_name
from ..metadata.topics import NewTopic
from ..security.authorization.access import NOT_ASKED, Access, cluster_operations

if TYPE_CHECKING:
    from ..services import Services

TOPIC = ResourceType.TOPIC
DESCRIBE, CREATE = AclOperation.DESCRIBE, AclOperation.CREATE
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
FIRST_VERSION_WITH_UNKNOWN_WHILE_CREATING = 4
FIRST_VERSION_BY_ID = 12
LAST_VERSION_WITH_CLUSTER_OPERATIONS = 10
FIRST_VERSION_WITH_OPERATIONS = 8

log = logging.getLogger(__name__)


async def handle(services: "Services", request: MetadataRequest, call: Call) -> MetadataResponse:
    cluster = services.cluster
    access = call.access
    turn = call.turn
    names, ids = await _names_and_ids(request.topics or (), call.version, turn)
    operations = TopicOperations(access, is_asked=request.include_topic_authorized_operations)
    if request.topics is None or (call.version == 0 and not request.topics):
        topics = []
        for topic in tuple(cluster.topics.values()):
            if access.may_see(DESCRIBE, TOPIC, topic.name):
                topics.append(await _describe(topic, operations, cluster, turn))
            await turn.next()
    elif ids:
        topics = [await _describe_by_id(cluster, topic_id, access, operations, turn) for topic_id in ids]
    else:
        topics = await _describe_by_name(services, names, request, call, operations)
    return MetadataResponse(
        brokers=_list_brokers(cluster, call.peer.listener),
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        topics=topics,
        cluster_authorized_operations=_cluster_operations(request, call),
    )


def refuse(request: MetadataRequest, error: ApiError, call: Call) -> MetadataResponse:
    """Versions up to 12 have no error of their own: each topic carries it, under the name it was asked by."""
    return MetadataResponse(
        topics=tuple(
            MetadataResponseTopic(
                error_code=error.code,
                name=topic.name if call.version >= FIRST_VERSION_BY_ID else topic.name or "",
                topic_id=topic.topic_id,
            )
            for topic in request.topics or ()
        )
    )


class TopicOperations:
    """The authorized operations of topics, if the client asks for them."""

    __slots__ = ("_access", "_is_asked")

    def __init__(self, access: Access, *, is_asked: bool) -> None:
        self._access = access
        self._is_asked = is_asked

    def of_topic(self, name: str) -> int:
        return self._access.authorized_operations(TOPIC, name) if self._is_asked else NOT_ASKED


async def _names_and_ids(
    topics: Sequence[MetadataRequestTopic], version: int, turn: Turn
) -> tuple[Iterable[str], Iterable[UUID]]:
    """The names and ids, each once. Raises ApiError INVALID_REQUEST for ids in a version without them."""
    names: dict[str, None] = {}
    ids: dict[UUID, None] = {}
    for topic in topics:
        await turn.next()
        if version < FIRST_VERSION_BY_ID and (topic.name is None or topic.topic_id.int):
            raise ApiError(f"version {version} asks for topics by name only", ErrorCode.INVALID_REQUEST)
        if topic.topic_id.int:
            ids[topic.topic_id] = None
        elif topic.name is not None:
            names[topic.name] = None
    return names, ids


async def _describe_by_id(
    cluster: MetadataImage, topic_id: UUID, access: Access, operations: TopicOperations, turn: Turn
) -> MetadataResponseTopic:
    await turn.next()
    topic = cluster.topic_of(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    if not access.may(DESCRIBE, TOPIC, topic.name):
        return MetadataResponseTopic(error_code=DENIED, name=None, topic_id=topic_id)
    return await _describe(topic, operations, cluster, turn)


async def _describe_by_name(
    services: "Services",
    names: Iterable[str],
    request: MetadataRequest,
    call: Call,
    operations: TopicOperations,
) -> list[MetadataResponseTopic]:
    creates = request.allow_auto_topic_creation and services.settings.auto_create_topics_enable
    topics: list[MetadataResponseTopic] = []
    missing: list[str] = []
    turn = call.turn
    for name in names:
        await turn.next()
        topic = services.cluster.topics.get(name)
        if not call.access.may(DESCRIBE, TOPIC, name):
            topics.append(MetadataResponseTopic(error_code=DENIED, name=name))
        elif topic is not None:
            topics.append(await _describe(topic, operations, services.cluster, turn))
        else:
            missing.append(name)
    if creates:
        missing, hidden = _split_creatable(missing, call.access)
        topics += hidden
    while_creating = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if call.version < FIRST_VERSION_WITH_UNKNOWN_WHILE_CREATING:
        while_creating = ErrorCode.LEADER_NOT_AVAILABLE
    created = await _create_topics(services, missing, call) if creates and missing else set()
    for name in missing:
        await turn.next()
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
        topics.append(_make_absent_topic(name, while_creating if name in created else code, operations))
    return topics


def _split_creatable(names: Sequence[str], access: Access) -> tuple[list[str], list[MetadataResponseTopic]]:
    """The topics that the client may create, by their names, and refusals of the others."""
    if not names or access.may_see(CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        return list(names), []
    allowed = {name: None for name in names if access.may(CREATE, TOPIC, name)}
    return list(allowed), [
        MetadataResponseTopic(error_code=DENIED, name=name, is_internal=name in INTERNAL_TOPICS)
        for name in names
        if name not in allowed
    ]


async def _create_topics(services: "Services", names: Sequence[str], call: Call) -> set[str]:
    """The names of the topics that are there now. What cannot be created stays unknown; the log says why."""
    planned: list[NewTopic] = []
    for name in names:
        await call.turn.next()
        try:
            planned.append(services.topics.plan_with_defaults(name))
        except ApiError:
            continue  # an illegal or colliding name: unknown for good
    try:
        check_new_partition_count(sum(topic.partitions for topic in planned))
    except ApiError as error:
        log.warning("topics that a client asks for are not created: %s", error)
        return set()
    failed = await services.topics.create(planned)
    created = {topic.name: topic.partitions for topic in planned if topic.name not in failed}
    for name, partitions in created.items():
        size = plural(partitions, "partition")
        log.info("topic %s is created, since %s asked for it: %s", name, call.requester, size)
        await call.turn.next()
    return set(created)


def _make_absent_topic(name: str, code: ErrorCode, operations: TopicOperations) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=operations.of_topic(name),
    )


async def _describe(
    topic: Topic, operations: TopicOperations, cluster: MetadataImage, turn: Turn
) -> MetadataResponseTopic:
    partitions = await turn.map(
        lambda partition: _describe_partition(partition, cluster), tuple(topic.partitions.values())
    )
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=partitions,
        topic_authorized_operations=operations.of_topic(topic.name),
    )


def _describe_partition(partition: Partition, cluster: MetadataImage) -> MetadataResponsePartition:
    leader_id = cluster.leader_of(partition)
    return MetadataResponsePartition(
        error_code=ErrorCode.NONE if leader_id >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=partition.index,
        leader_id=leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        offline_replicas=cluster.offline_replicas(partition),
    )


def _list_brokers(cluster: MetadataImage, listener: str) -> list[MetadataResponseBroker]:
    """The brokers that can be reached by the listener the client came in by."""
    nodes = ((node, node.endpoints.get(listener)) for node in cluster.brokers.values())
    return [
        MetadataResponseBroker(node_id=node.node_id, host=endpoint.host, port=endpoint.port, rack=node.rack)
        for node, endpoint in nodes
        if endpoint is not None
    ]


def _cluster_operations(request: MetadataRequest, call: Call) -> int:
    has_field = FIRST_VERSION_WITH_OPERATIONS <= call.version <= LAST_VERSION_WITH_CLUSTER_OPERATIONS
    return cluster_operations(call.access, has_field and request.include_cluster_authorized_operations)
