"""Settings of config resources: topics, brokers, loggers, groups and client metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ...protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ..errors import raise_if_error
from ..operation import CONTROLLER, Ask, Operation, Target, ask
from .outcome import Outcome, outcome_of

SET, DELETE = 0, 1
UNKNOWN_SOURCE = "UNKNOWN"


class ResourceKind(IntEnum):
    """The type of a resource, with its code in requests (Kafka 4.4, ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""Where a value comes from, by its code in answers (Kafka 4.4, DescribeConfigsResponse.ConfigSource)."""


@dataclass(frozen=True, slots=True)
class ConfigResource:
    """A resource. The name of a broker is its id, or "" for the settings of all brokers."""

    kind: ResourceKind
    name: str

    @property
    def node(self) -> int | None:
        """The only broker that knows the resource, None if any broker does."""
        is_of_a_broker = self.kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER) and self.name
        return int(self.name) if is_of_a_broker else None


def describe_configs(resource: ConfigResource) -> Operation[list[dict[str, Any]]]:
    """Every setting of a resource, ready for JSON. Raises: KafkaError."""
    wanted = DescribeConfigsResource(resource_type=resource.kind, resource_name=resource.name, configuration_keys=None)
    response = yield from ask(DescribeConfigsRequest(resources=(wanted,)), resource.node)
    (result,) = response.results
    raise_if_error(f"{resource.kind.name.lower()} {resource.name}".rstrip(), result)
    return [
        {
            "name": row.name,
            "value": row.value,
            "source": SOURCES.get(row.config_source, UNKNOWN_SOURCE),
            "is_read_only": row.read_only,
            "is_sensitive": row.is_sensitive,
        }
        for row in result.configs
    ]


def alter_configs(
    resource: ConfigResource, changed: Mapping[str, str], removed: Sequence[str] = (), *, validate_only: bool = False
) -> Operation[Outcome]:
    """Sets some of a resource's settings, and removes others, so that their defaults apply."""
    configs = [AlterableConfig(name=key, config_operation=SET, value=text) for key, text in changed.items()]
    configs += [AlterableConfig(name=key, config_operation=DELETE, value=None) for key in removed]
    entry = AlterConfigsResource(resource_type=resource.kind, resource_name=resource.name, configs=tuple(configs))
    request = IncrementalAlterConfigsRequest(resources=(entry,), validate_only=validate_only)
    to: Target = CONTROLLER if resource.node is None else resource.node
    response = yield Ask(
        key=ApiKey.INCREMENTAL_ALTER_CONFIGS, make_request=lambda version: request, to=to, error_of=_find_not_controller
    )
    return outcome_of(resource.name, response.responses[0])


def _find_not_controller(response: Any) -> int:
    codes = [each.error_code for each in response.responses]
    return ErrorCode.NOT_CONTROLLER if ErrorCode.NOT_CONTROLLER in codes else ErrorCode.NONE
