"""CreateTopics, versions 0-7 (KIP-4, 464, 516, 525): creates topics, or only checks whether they could be.

Each topic succeeds or fails for itself; all that succeed are on the disk, by one write of the metadata, when the
answer goes out. Version notes: v0 has no error message and no `validate_only`; v4 lets clients leave numbers to the
broker (-1, which is taken in every version); v5 answers with the settings in force; v7 with the topic id.
`timeout_ms` is not needed: nothing is waited for. Kafka refuses requests that make more than 10,000 metadata records;
here 10,000 partitions are the limit.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from ...config.describe_configs import describe_topic
from ...network.worker_threads import drop_traceback
from ...protocol.acls import AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ...protocol.plural import plural
from ..dispatch.call import Call
from ..metadata.topic_rules import METADATA_TOPIC, check_assignments, check_layout, check_new_partition_count
from ..metadata.topics import NewTopic

if TYPE_CHECKING:
    from ..services import Services

log = logging.getLogger(__name__)

UNSET = -1
FIRST_VERSION_WITH_CONFIGS = 5
FIRST_VERSION_WITH_STRICT_QUOTA = 6
ConfigsOf = Callable[[frozenset[tuple[str, str]]], Sequence[CreatableTopicConfigs]]


async def handle(services: "Services", request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    counts = Counter(topic.name for topic in request.topics)
    planned: dict[str, NewTopic] = {}
    failed: dict[str, ApiError] = {}
    for topic in request.topics:
        await call.turn.next()
        try:
            plan = _plan_topic(services, topic, is_repeated=counts[topic.name] > 1)
            call.quota.count_mutations(plan.partitions, strict_from=FIRST_VERSION_WITH_STRICT_QUOTA)
            planned[topic.name] = plan
        except ApiError as error:
            drop_traceback(error)
            failed[topic.name] = error
    check_new_partition_count(sum(topic.partitions for topic in planned.values()))
    if not request.validate_only and planned:
        failed |= await services.topics.create(planned.values())
        for new in (each for each in planned.values() if each.name not in failed):
            log.info("topic %s is created by %s: %s, settings %s",
                     new.name, call.requester, plural(new.partitions, "partition"), dict(new.overrides))  # fmt: skip
            await call.turn.next()
    answers = []
    configs_of = cache(partial(_describe_configs, services))
    for name in counts:
        await call.turn.next()
        answers.append(
            _make_failure(name, failed[name]) if name in failed else _make_success(planned[name], call, configs_of)
        )
    return CreateTopicsResponse(topics=answers)


def refuse(request: CreateTopicsRequest, error: ApiError, call: Call) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_make_failure(topic.name, error) for topic in request.topics])


async def create_topic(services: "Services", topic: CreatableTopic) -> None:
    """Creates a topic for the broker itself, without looking at rights and quotas. Raises: ApiError."""
    plan = _plan_topic(services, topic, is_repeated=False)
    check_new_partition_count(plan.partitions)
    for error in (await services.topics.create([plan])).values():
        raise error


def _plan_topic(services: "Services", topic: CreatableTopic, *, is_repeated: bool) -> NewTopic:
    if is_repeated:
        raise ApiError(f"topic {topic.name!r} is named more than once", ErrorCode.INVALID_REQUEST)
    if topic.name == METADATA_TOPIC:
        raise ApiError(f"{METADATA_TOPIC} cannot be created", ErrorCode.INVALID_REQUEST)
    services.topics.check_is_free(topic.name)
    overrides = _read_overrides(topic)
    settings = services.topics.configuration.topic_settings(overrides)
    assignment = _read_assignment(services, topic)
    if assignment:
        partitions, factor = len(assignment), len(assignment[0])
    else:
        partitions, factor = _count_partitions_and_replicas(services, topic)
    return NewTopic(
        name=topic.name,
        partitions=partitions,
        replication_factor=factor,
        assignment=assignment,
        settings=settings,
        overrides=overrides,
    )


def _read_overrides(topic: CreatableTopic) -> dict[str, str]:
    """The settings that are given, by key. Raises ApiError 40."""
    overrides: dict[str, str] = {}
    for config in topic.configs:
        if config.value is None:
            raise ApiError(f"{config.name} has no value", ErrorCode.INVALID_CONFIG)
        overrides[config.name] = config.value
    return overrides


def _count_partitions_and_replicas(services: "Services", topic: CreatableTopic) -> tuple[int, int]:
    """How many partitions and replicas the topic gets. Raises ApiError 37 or 38."""
    defaults = services.settings
    factor = defaults.default_replication_factor if topic.replication_factor == UNSET else topic.replication_factor
    check_layout(topic.num_partitions, factor, services.topics.max_replication_factor)
    return defaults.num_partitions if topic.num_partitions == UNSET else topic.num_partitions, max(1, factor)


def _read_assignment(services: "Services", topic: CreatableTopic) -> tuple[tuple[int, ...], ...]:
    """The replicas of each partition where they are assigned by hand. Raises ApiError 39 or 42."""
    if not topic.assignments:
        return ()
    if topic.replication_factor != UNSET or topic.num_partitions != UNSET:
        raise ApiError(
            "with replicas assigned by hand, partitions and replication factor have to be -1", ErrorCode.INVALID_REQUEST
        )
    assignments = {assignment.partition_index: tuple(assignment.broker_ids) for assignment in topic.assignments}
    if len(assignments) < len(topic.assignments):
        raise ApiError("a partition is assigned twice", ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    check_assignments(assignments, services.topics.known_brokers)
    return tuple(assignments[index] for index in range(len(assignments)))


def _make_failure(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


def _make_success(topic: NewTopic, call: Call, configs_of: ConfigsOf) -> CreatableTopicResult:
    if not call.access.may(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, topic.name):
        return CreatableTopicResult(
            name=topic.name,
            topic_id=topic.topic_id,
            topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            error_message=None,
        )
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        configs=configs_of(frozenset(topic.overrides.items())) if call.version >= FIRST_VERSION_WITH_CONFIGS else (),
        error_message=None,
    )


def _describe_configs(services: "Services", settings: frozenset[tuple[str, str]]) -> Sequence[CreatableTopicConfigs]:
    """The settings in force for a topic that has these of its own."""
    overrides = dict(settings)
    rows = describe_topic(services.topics.configuration.layers, overrides)
    return [
        CreatableTopicConfigs(
            name=row.name,
            value=overrides.get(row.name, row.value),  # as it was written, unlike in DescribeConfigs
            read_only=row.read_only,
            config_source=row.source,
            is_sensitive=row.sensitive,
        )
        for row in sorted(rows, key=lambda row: row.name)
    ]
