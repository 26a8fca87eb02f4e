"""IncrementalAlterConfigs, versions 0-1 (KIP-339, 412): changes single settings, or items of lists.

Operations: 0 SET, 1 DELETE (back to the default), 2 APPEND and 3 SUBTRACT items of a list. Resources are topics, this
broker, the cluster's defaults, and loggers, whose levels last until the next restart. Each resource succeeds or fails
as a whole and for itself; a change is on the disk, and in force in open logs, when the answer goes out. Subscriptions
of client metrics (KIP-714) are not supported.
"""

from functools import partial
from typing import TYPE_CHECKING

from ...config.alterations import Alteration, Operation
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ..dispatch.call import Call
from ..dispatch.repeated_items import find_repeated_names
from ..metadata.config_resources import (
    AlterConfigsOptions,
    ResourceType,
    alter_broker_settings,
    alter_logger_levels,
    alter_topic_settings,
    change_each,
    check_config_keys,
    resource_type,
)

if TYPE_CHECKING:
    from ..services import Services


async def handle(
    services: "Services", request: IncrementalAlterConfigsRequest, call: Call
) -> IncrementalAlterConfigsResponse:
    alter = partial(
        _alter_resource,
        services,
        options=AlterConfigsOptions(by=call.requester, is_validate_only=request.validate_only),
    )
    named = ((each.resource_type, each.resource_name) for each in request.resources)
    repeated = await find_repeated_names(named, call.turn)
    errors = await change_each(request.resources, repeated, alter, call.turn)
    return IncrementalAlterConfigsResponse(responses=list(map(_make_response, request.resources, errors)))


def refuse(request: IncrementalAlterConfigsRequest, error: ApiError, call: Call) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_make_response(resource, error) for resource in request.resources]
    )


def _alter_resource(services: "Services", resource: AlterConfigsResource, *, options: AlterConfigsOptions) -> None:
    check_config_keys(
        [config.name for config in resource.configs],
        [each.name for each in resource.configs if each.value is None and each.config_operation != Operation.DELETE],
    )
    alterations = [_read_alteration(config) for config in resource.configs]
    name = resource.resource_name
    kind = resource_type(resource.resource_type)
    if kind is ResourceType.TOPIC:
        alter_topic_settings(services.topics, name, alterations, options)
    elif kind is ResourceType.BROKER:
        alter_broker_settings(services.topics, name, alterations, options)
    elif kind is ResourceType.BROKER_LOGGER:
        alter_logger_levels(services.cluster, name, alterations, options)
    else:
        raise ApiError("client metrics are not collected by this broker", ErrorCode.INVALID_REQUEST)


def _read_alteration(config: AlterableConfig) -> Alteration:
    try:
        operation = Operation(config.config_operation)
    except ValueError:
        raise ApiError(f"operation {config.config_operation} is not known", ErrorCode.INVALID_REQUEST) from None
    return Alteration(config.name, operation, config.value or "")


def _make_response(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
