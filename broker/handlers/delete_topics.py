"""DeleteTopics, versions 0-6 (KIP-4, 516, 599): deletes topics by name, from v6 also by id.

The topics are gone from the metadata on disk, in one write, when the answer goes out; their folders are renamed and
removed after `file.delete.delay.ms`. Each name or id succeeds or fails for itself, in the order of the request (Kafka
shuffles the results). Version notes: before v3 a broker that does not
delete answers INVALID_REQUEST; v5 has error messages.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from ...protocol.schema import NO_UUID
from ..dispatch.call import Call
from ..metadata.topic_rules import OFFSETS_TOPIC, TRANSACTION_TOPIC
from ..security.authorization.access import EVERYTHING, Access

if TYPE_CHECKING:
    from ..services import Services

log = logging.getLogger(__name__)

FIRST_VERSION_WITH_DELETION_DISABLED = 3
FIRST_VERSION_WITH_STRICT_QUOTA = 5
NONE = ApiError("", ErrorCode.NONE)
HELD_BY = {OFFSETS_TOPIC: "groups and committed offsets", TRANSACTION_TOPIC: "transactional ids"}


async def handle(services: "Services", request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    if not services.settings.delete_topic_enable:
        disabled = call.version >= FIRST_VERSION_WITH_DELETION_DISABLED
        code = ErrorCode.TOPIC_DELETION_DISABLED if disabled else ErrorCode.INVALID_REQUEST
        raise ApiError("delete.topic.enable is false", code)
    results: list[DeletableTopicResult] = []
    access = _deletion_access(call)
    doomed: dict[str, None] = {}  # a set that keeps the order
    for asked, count in Counter(_topics_of(request)).items():
        await call.turn.next()
        try:
            name = _resolve_name(services, asked, count, access)
            if name in doomed:
                del doomed[name]  # Kafka deletes nothing that is both named and given by its id
                raise ApiError(f"topic {name} is given by name and by id", ErrorCode.INVALID_REQUEST)
            call.quota.count_mutations(
                len(services.cluster.topics[name].partitions), strict_from=FIRST_VERSION_WITH_STRICT_QUOTA
            )
            doomed[name] = None
        except ApiError as error:
            results.append(_make_result(_add_name(services, asked, error, access), error))
    resolved = [
        DeleteTopicState(name=name, topic_id=topic.topic_id)
        for name in doomed
        if (topic := services.cluster.topics.get(name)) is not None
    ]
    failed = await services.topics.delete(doomed)
    for name in doomed.keys() - failed.keys():
        _log_deletion(name, call.requester)
        await call.turn.next()
    results += await call.turn.map(lambda topic: _make_result(topic, failed.get(topic.name or "", NONE)), resolved)
    return DeleteTopicsResponse(responses=results)


def _log_deletion(name: str, requester: object) -> None:
    if name in HELD_BY:
        log.warning("topic %s is deleted by %s: all %s are gone", name, requester, HELD_BY[name])
    else:
        log.info("topic %s is deleted by %s", name, requester)


def refuse(request: DeleteTopicsRequest, error: ApiError, call: Call) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(responses=[_make_result(asked, error) for asked in _topics_of(request)])


def _topics_of(request: DeleteTopicsRequest) -> Iterator[DeleteTopicState]:
    yield from (DeleteTopicState(name=name) for name in request.topic_names)
    yield from request.topics


def _deletion_access(call: Call) -> Access:
    """A client that may DELETE on the cluster may delete every topic."""
    everything = call.access.may_see(AclOperation.DELETE, ResourceType.CLUSTER, CLUSTER_NAME)
    return EVERYTHING if everything else call.access


def _add_name(services: "Services", asked: DeleteTopicState, error: ApiError, access: Access) -> DeleteTopicState:
    """The topic as a refusal names it: for one given by its id the name is added if the client may know it."""
    if asked.name is not None or error.code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return asked
    topic = services.cluster.topic_of(asked.topic_id)
    if topic is None or not access.may_see(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name):
        return asked
    return DeleteTopicState(name=topic.name, topic_id=asked.topic_id)


def _resolve_name(services: "Services", asked: DeleteTopicState, count: int, access: Access) -> str:
    """The name of the topic to delete. Raises ApiError."""
    if (asked.name is None) == (asked.topic_id == NO_UUID):
        raise ApiError("either the name or the id of a topic is needed", ErrorCode.INVALID_REQUEST)
    if count > 1:
        raise ApiError("the topic is given more than once", ErrorCode.INVALID_REQUEST)
    if asked.name is None:
        topic = services.cluster.topic_of(asked.topic_id)
        if topic is None:
            raise ApiError(f"there is no topic with the id {asked.topic_id}", ErrorCode.UNKNOWN_TOPIC_ID)
        if not access.may(AclOperation.DELETE, ResourceType.TOPIC, topic.name):  # an error with the name would tell it
            raise ApiError("DELETE is not allowed on this topic", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return topic.name
    access.ensure_allows(AclOperation.DESCRIBE, ResourceType.TOPIC, asked.name)
    if asked.name not in services.cluster.topics:
        raise ApiError(f"there is no topic {asked.name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    access.ensure_allows(AclOperation.DELETE, ResourceType.TOPIC, asked.name)
    return asked.name


def _make_result(asked: DeleteTopicState, error: ApiError) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=asked.name, topic_id=asked.topic_id, error_code=error.code, error_message=error.message
    )
