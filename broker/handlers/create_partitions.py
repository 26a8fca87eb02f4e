"""CreatePartitions, versions 0-3 (KIP-195): adds partitions to topics, or only checks whether it could.

Version notes: v0-v3 are alike but for flexible fields from v2.
"""

import logging
from collections import Counter
from typing import TYPE_CHECKING

from ...network.worker_threads import drop_traceback
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from ...protocol.plural import plural
from ..dispatch.call import Call
from ..metadata.topic_rules import check_new_partition_count, check_replica_lists

if TYPE_CHECKING:
    from ..services import Services

log = logging.getLogger(__name__)

FIRST_VERSION_WITH_STRICT_QUOTA = 3
NONE = ApiError("", ErrorCode.NONE)


async def handle(services: "Services", request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    counts = Counter(topic.name for topic in request.topics)
    results: dict[str, CreatePartitionsTopicResult] = {}
    for topic in request.topics:
        await call.turn.next()
        error = NONE
        try:
            added = _count_new_partitions(services, topic, is_repeated=counts[topic.name] > 1)
            call.quota.count_mutations(added, strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
            if not request.validate_only:
                assignment = [tuple(each.broker_ids) for each in topic.assignments or ()]
                await services.topics.add_partitions(topic.name, topic.count, assignment)
                log.info("topic %s is given %s by %s", topic.name, plural(topic.count, "partition"), call.requester)
        except ApiError as fault:
            drop_traceback(fault)
            error = fault
        results[topic.name] = _make_result(topic, error)
    return CreatePartitionsResponse(results=list(results.values()))


def refuse(request: CreatePartitionsRequest, error: ApiError, call: Call) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(results=[_make_result(topic, error) for topic in request.topics])


def _count_new_partitions(services: "Services", asked: CreatePartitionsTopic, *, is_repeated: bool) -> int:
    """How many partitions are to be added. Raises ApiError 3, 37, 39, 42 or 44."""
    if is_repeated:
        raise ApiError(f"topic {asked.name} is named more than once", ErrorCode.INVALID_REQUEST)
    topic = services.cluster.topics.get(asked.name)
    if topic is None:
        raise ApiError(f"there is no topic {asked.name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    present = len(topic.partitions)
    if asked.count <= present:
        raise ApiError(
            f"topic {asked.name} has {plural(present, 'partition')}, {asked.count} would not be more",
            ErrorCode.INVALID_PARTITIONS,
        )
    added = asked.count - present
    if asked.assignments is not None:
        if len(asked.assignments) != added:
            raise ApiError(
                f"{added} new partitions need as many assignments, found {len(asked.assignments)}",
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            )
        replicas = len(topic.partitions[0].replicas)
        check_replica_lists([each.broker_ids for each in asked.assignments], services.topics.known_brokers, replicas)
    check_new_partition_count(added)
    return added


def _make_result(topic: CreatePartitionsTopic, error: ApiError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
