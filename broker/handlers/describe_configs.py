"""DescribeConfigs, versions 0-4 (KIP-133, 226, 412, 569): settings of topics, brokers and loggers.

All keys are described where none is named; unknown names are left out. Each resource succeeds or fails for itself;
one that is named twice is answered once.
Secrets have no value. Version notes: v0 says whether a value is the default, v1 where it comes from, and synonyms if
asked; v3 type and documentation.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...config.describe_configs import ConfigRow, describe_broker, describe_cluster_defaults, describe_topic
from ...config.layered_values import Source
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from ..dispatch.call import Call
from ..metadata.config_resources import (
    ResourceType,
    check_is_this_broker,
    is_cluster_default,
    logger_levels,
    resource_type,
)
from ..metadata.topic_rules import check_name

if TYPE_CHECKING:
    from ..services import Services

LOGGER_SOURCE = 6
UNKNOWN_TYPE = 0


async def handle(services: "Services", request: DescribeConfigsRequest, call: Call) -> DescribeConfigsResponse:
    distinct = {}
    for resource in request.resources:
        resource_type(resource.resource_type)  # an unknown type fails the request, as in Kafka
        keys = tuple(resource.configuration_keys or ())
        distinct[resource.resource_type, resource.resource_name, keys] = resource
        await call.turn.next()
    return DescribeConfigsResponse(
        results=[await _describe_resource(services, request, each, call) for each in distinct.values()]
    )


def refuse(request: DescribeConfigsRequest, error: ApiError, call: Call) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_make_failure(resource, error) for resource in request.resources])


async def _describe_resource(
    services: "Services", request: DescribeConfigsRequest, resource: DescribeConfigsResource, call: Call
) -> DescribeConfigsResult:
    await call.turn.next()
    try:
        configs = await _describe_configs(services, request, resource, call)
    except ApiError as error:
        return _make_failure(resource, error)
    return DescribeConfigsResult(
        error_code=ErrorCode.NONE,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=configs,
    )


def _make_failure(resource: DescribeConfigsResource, error: ApiError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


async def _describe_configs(
    services: "Services", request: DescribeConfigsRequest, resource: DescribeConfigsResource, call: Call
) -> list[DescribeConfigsResourceResult]:
    kind = resource_type(resource.resource_type)
    if kind is ResourceType.CLIENT_METRICS:
        return _describe_client_metrics(resource.resource_name)
    wanted = frozenset(resource.configuration_keys or ())
    if kind is ResourceType.BROKER_LOGGER:
        return _describe_loggers(services, resource.resource_name, wanted)
    find = _describe_topic_configs if kind is ResourceType.TOPIC else _describe_broker_configs
    rows = find(services, resource, wanted)
    return await call.turn.map(lambda row: _make_entry(row, request, call.version), rows)


def _describe_topic_configs(
    services: "Services", resource: DescribeConfigsResource, wanted: frozenset[str]
) -> Iterable[ConfigRow]:
    name = resource.resource_name
    check_name(name)
    topic = services.cluster.topics.get(name)
    if topic is None:
        raise ApiError(f"there is no topic {name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return describe_topic(services.topics.configuration.layers, topic.overrides, wanted)


def _describe_broker_configs(
    services: "Services", resource: DescribeConfigsResource, wanted: frozenset[str]
) -> Iterable[ConfigRow]:
    layers = services.topics.configuration.layers
    if is_cluster_default(services.cluster, resource.resource_name):
        return describe_cluster_defaults(layers, wanted)
    return describe_broker(layers, wanted)


def _make_entry(row: ConfigRow, request: DescribeConfigsRequest, version: int) -> DescribeConfigsResourceResult:
    synonyms = row.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=row.name,
        value=row.value,
        read_only=row.read_only,
        is_default=version == 0 and row.source is Source.DEFAULT,
        config_source=row.source,
        is_sensitive=row.sensitive,
        synonyms=[DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source) for each in synonyms],
        config_type=row.kind,
        documentation=row.doc if request.include_documentation else None,
    )


def _describe_loggers(services: "Services", name: str, wanted: frozenset[str]) -> list[DescribeConfigsResourceResult]:
    check_is_this_broker(services.cluster, name)
    return [
        DescribeConfigsResourceResult(
            name=logger,
            value=level,
            config_source=LOGGER_SOURCE,
            config_type=UNKNOWN_TYPE,
            documentation=None,
        )
        for logger, level in logger_levels().items()
        if not wanted or logger in wanted
    ]


def _describe_client_metrics(name: str) -> list[DescribeConfigsResourceResult]:
    if not name:
        raise ApiError("a subscription of client metrics needs a name", ErrorCode.INVALID_REQUEST)
    return []
