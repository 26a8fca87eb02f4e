"""What the `topics` commands ask of a broker, and the answers as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ...protocol.api import ApiKey
from ...protocol.errors import error_name
from ...protocol.messages import alter_configs as alter_configs_messages
from ...protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from ...protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ...protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ...protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ..support.broker_client import BrokerClient

TOPIC_RESOURCE = 2
TOPIC_SOURCE = 1
SET, DELETE = 0, 1
TIMEOUT_MS = 30_000
BY_NAME_OR_ID_FROM = 6
NULL_MEANS_ALL_FROM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a change of one topic went; `error` is a wire code's name, "" for none."""

    topic: str
    error: str = ""
    message: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create; -1 leaves a number to the broker."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


def create(client: BrokerClient, topics: Sequence[NewTopic], *, validate_only: bool) -> list[Outcome]:
    """Create topics, or only find out whether they could be."""
    creatable = tuple(
        CreatableTopic(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            configs=tuple(CreatableTopicConfig(name=name, value=text) for name, text in topic.configs.items()),
        )
        for topic in topics
    )
    response = client.call(
        ApiKey.CREATE_TOPICS,
        lambda version: CreateTopicsRequest(topics=creatable, timeout_ms=TIMEOUT_MS, validate_only=validate_only),
    )
    return [_outcome(result.name, result) for result in response.topics]


def delete(client: BrokerClient, names: Sequence[str]) -> list[Outcome]:
    """Delete topics by their names."""

    def request(version: int) -> DeleteTopicsRequest:
        if version < BY_NAME_OR_ID_FROM:
            return DeleteTopicsRequest(topic_names=tuple(names), timeout_ms=TIMEOUT_MS)
        topics = tuple(DeleteTopicState(name=name) for name in names)
        return DeleteTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS)

    response = client.call(ApiKey.DELETE_TOPICS, request)
    return [_outcome(result.name or "", result) for result in response.responses]


def add_partitions(client: BrokerClient, name: str, count: int) -> Outcome:
    """Raise the number of a topic's partitions to `count`."""
    topics = (CreatePartitionsTopic(name=name, count=count, assignments=None),)
    response = client.call(
        ApiKey.CREATE_PARTITIONS, lambda version: CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS)
    )
    return _outcome(name, response.results[0])


def alter_configs(client: BrokerClient, name: str, changed: Mapping[str, str], removed: Sequence[str]) -> Outcome:
    """Set some of a topic's settings, and remove others so that the broker's defaults count."""
    configs = [AlterableConfig(name=key, config_operation=SET, value=text) for key, text in changed.items()]
    configs += [AlterableConfig(name=key, config_operation=DELETE, value=None) for key in removed]
    resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=tuple(configs))
    response = client.call(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, lambda version: IncrementalAlterConfigsRequest(resources=(resource,))
    )
    return _outcome(name, response.responses[0])


def replace_configs(client: BrokerClient, name: str, configs: Mapping[str, str]) -> Outcome:
    """Give a topic these settings and no others of its own."""
    texts = tuple(alter_configs_messages.AlterableConfig(name=key, value=text) for key, text in configs.items())
    resource = alter_configs_messages.AlterConfigsResource(
        resource_type=TOPIC_RESOURCE, resource_name=name, configs=texts
    )
    request = alter_configs_messages.AlterConfigsRequest(resources=(resource,))
    response = client.call(ApiKey.ALTER_CONFIGS, lambda version: request)
    return _outcome(name, response.responses[0])


def describe(client: BrokerClient, names: Sequence[str] | None) -> list[dict[str, Any]]:
    """Topics (None: all) with their partitions, by name, ready for JSON; `error` is "" where there is none."""

    def request(version: int) -> MetadataRequest:
        if names is None:
            return MetadataRequest(topics=None if version >= NULL_MEANS_ALL_FROM else ())
        topics = tuple(MetadataRequestTopic(name=name) for name in names)
        return MetadataRequest(topics=topics, allow_auto_topic_creation=False)

    response = client.call(ApiKey.METADATA, request)
    return sorted((_topic(topic) for topic in response.topics), key=lambda topic: str(topic["name"]))


def configs_of(client: BrokerClient, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Every setting of each topic, with the code of its source."""
    resources = tuple(
        DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
        for name in names
    )
    response = client.call(ApiKey.DESCRIBE_CONFIGS, lambda version: DescribeConfigsRequest(resources=resources))
    return {
        result.resource_name: [
            {"name": row.name, "value": row.value, "source": row.config_source} for row in result.configs
        ]
        for result in response.results
    }


def _outcome(topic: str, result: Any) -> Outcome:
    if not result.error_code:
        return Outcome(topic=topic)
    message = getattr(result, "error_message", None) or ""
    return Outcome(topic=topic, error=error_name(result.error_code), message=message)


def _topic(topic: Any) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": str(topic.topic_id) if topic.topic_id != UUID(int=0) else None,
        "internal": topic.is_internal,
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
