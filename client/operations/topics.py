"""Topics and their settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode, error_name
from ...protocol.messages import alter_configs
from ...protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from ...protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ...protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ..errors import raise_if_error
from ..operation import CONTROLLER, Ask, Operation, TopicPartition, ask
from .configs import ConfigResource, ResourceKind
from .configs import alter_configs as alter_resource
from .outcome import Outcome, outcome_of

TOPIC_RESOURCE = ResourceKind.TOPIC
TOPIC_SOURCE = 1
TIMEOUT_MS = 30_000
BY_NAME_OR_ID_FROM = 6
NULL_MEANS_ALL_FROM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create; -1: the broker's default. `assignments` (replicas by partition) replace both numbers."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)


def create_topics(
    topics: Sequence[NewTopic], *, validate_only: bool = False, timeout_ms: int = TIMEOUT_MS
) -> Operation[list[Outcome]]:
    """Creates topics, or with `validate_only` only checks whether it could."""
    creatable = tuple(
        CreatableTopic(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            configs=tuple(CreatableTopicConfig(name=name, value=text) for name, text in topic.configs.items()),
            assignments=tuple(
                CreatableReplicaAssignment(partition_index=index, broker_ids=tuple(brokers))
                for index, brokers in topic.assignments.items()
            ),
        )
        for topic in topics
    )
    request = CreateTopicsRequest(topics=creatable, timeout_ms=timeout_ms, validate_only=validate_only)
    response = yield from _ask_any_then_controller(ApiKey.CREATE_TOPICS, lambda version: request, "topics")
    return [outcome_of(result.name, result) for result in response.topics]


def delete_topics(names: Sequence[str], *, timeout_ms: int = TIMEOUT_MS) -> Operation[list[Outcome]]:
    """Deletes topics by their names."""

    def make_request(version: int) -> DeleteTopicsRequest:
        if version < BY_NAME_OR_ID_FROM:
            return DeleteTopicsRequest(topic_names=tuple(names), timeout_ms=timeout_ms)
        topics = tuple(DeleteTopicState(name=name) for name in names)
        return DeleteTopicsRequest(topics=topics, timeout_ms=timeout_ms)

    response = yield from _ask_any_then_controller(ApiKey.DELETE_TOPICS, make_request, "responses")
    return [outcome_of(result.name or "", result) for result in response.responses]


def add_partitions(name: str, count: int) -> Operation[Outcome]:
    """Raises the number of a topic's partitions to `count`."""
    topics = (CreatePartitionsTopic(name=name, count=count, assignments=None),)
    request = CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
    response = yield from _ask_any_then_controller(ApiKey.CREATE_PARTITIONS, lambda version: request, "results")
    return outcome_of(name, response.results[0])


def alter_topic_configs(name: str, changed: Mapping[str, str], removed: Sequence[str] = ()) -> Operation[Outcome]:
    """Sets some of a topic's settings, and removes others, so that the broker's defaults apply."""
    return alter_resource(ConfigResource(ResourceKind.TOPIC, name), changed, removed)


def replace_topic_configs(name: str, configs: Mapping[str, str]) -> Operation[Outcome]:
    """Gives a topic these settings and no others of its own."""
    texts = tuple(alter_configs.AlterableConfig(name=key, value=text) for key, text in configs.items())
    resource = alter_configs.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=texts)
    request = alter_configs.AlterConfigsRequest(resources=(resource,))
    response = yield from _ask_any_then_controller(ApiKey.ALTER_CONFIGS, lambda version: request, "responses")
    return outcome_of(name, response.responses[0])


def describe_topics(names: Sequence[str] | None = None) -> Operation[list[dict[str, Any]]]:
    """Topics (None: all) with their partitions, by name, ready for JSON; `error` is "" where there is none."""

    def make_request(version: int) -> MetadataRequest:
        if names is None:
            return MetadataRequest(topics=None if version >= NULL_MEANS_ALL_FROM else ())
        return make_metadata_request(names)

    response = yield Ask(key=ApiKey.METADATA, make_request=make_request)
    return sorted((_topic_row(topic) for topic in response.topics), key=lambda topic: str(topic["name"]))


def list_topic_partitions(name: str) -> Operation[list[TopicPartition]]:
    """All partitions of a topic. Raises: KafkaError."""
    response = yield from ask(make_metadata_request([name]))
    found = response.topics[0]
    raise_if_error(f"topic {name}", found)
    return sorted((name, each.partition_index) for each in found.partitions)


def make_metadata_request(names: Iterable[str], *, create: bool = False) -> MetadataRequest:
    """A request for topics; with `create` the broker may create missing ones."""
    topics = tuple(MetadataRequestTopic(name=name) for name in names)
    return MetadataRequest(topics=topics, allow_auto_topic_creation=create)


def topic_configs(names: Sequence[str]) -> Operation[dict[str, list[dict[str, Any]]]]:
    """Every setting of each topic, with the code of its source."""
    resources = tuple(
        DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
        for name in names
    )
    response = yield from ask(DescribeConfigsRequest(resources=resources))
    return {
        result.resource_name: [
            {"name": row.name, "value": row.value, "source": row.config_source} for row in result.configs
        ]
        for result in response.results
    }


def _ask_any_then_controller(key: ApiKey, make_request: Callable[[int], Any], results: str) -> Operation[Any]:
    """Asks any broker, then the controller if a result is NOT_CONTROLLER (before KRaft)."""

    def error_of(response: Any) -> int:
        codes = [each.error_code for each in getattr(response, results)]
        return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE

    return (yield Ask(key=key, make_request=make_request, to=CONTROLLER, error_of=error_of))


def _topic_row(topic: Any) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": str(topic.topic_id) if topic.topic_id != UUID(int=0) else None,
        "is_internal": topic.is_internal,
        "error": error_name(topic.error_code) if topic.error_code else "",
        "partitions": [
            {
                "partition": partition.partition_index,
                "leader": partition.leader_id,
                "leader_epoch": partition.leader_epoch,
                "replicas": list(partition.replica_nodes),
                "isr": list(partition.isr_nodes),
                "error": error_name(partition.error_code) if partition.error_code else "",
            }
            for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
        ],
    }
