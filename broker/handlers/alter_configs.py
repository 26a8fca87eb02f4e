"""AlterConfigs, versions 0-2 (KIP-133): replaces all settings of topics or brokers that differ from the defaults.

A setting that is not named returns to its default: IncrementalAlterConfigs is the better way. Each resource succeeds or
fails for itself; a change is on the disk, and in force in open logs, when the answer goes out. v0-v2 are alike but for
flexible fields.
"""

from functools import partial
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from ..dispatch.call import Call
from ..dispatch.repeated_items import find_repeated_names
from ..metadata.config_resources import (
    AlterConfigsOptions,
    ResourceType,
    change_each,
    check_config_keys,
    replace_broker_settings,
    replace_topic_settings,
    resource_type,
)

if TYPE_CHECKING:
    from ..services import Services


async def handle(services: "Services", request: AlterConfigsRequest, call: Call) -> AlterConfigsResponse:
    replace = partial(
        _replace_configs,
        services,
        options=AlterConfigsOptions(by=call.requester, is_validate_only=request.validate_only),
    )
    named = ((each.resource_type, each.resource_name) for each in request.resources)
    repeated = await find_repeated_names(named, call.turn)
    errors = await change_each(request.resources, repeated, replace, call.turn)
    return AlterConfigsResponse(responses=list(map(_make_response, request.resources, errors)))


def refuse(request: AlterConfigsRequest, error: ApiError, call: Call) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=[_make_response(resource, error) for resource in request.resources])


def _replace_configs(services: "Services", resource: AlterConfigsResource, *, options: AlterConfigsOptions) -> None:
    configs = resource.configs
    check_config_keys([config.name for config in configs], [config.name for config in configs if config.value is None])
    texts = {config.name: config.value for config in configs if config.value is not None}
    kind = resource_type(resource.resource_type)
    if kind is ResourceType.TOPIC:
        replace_topic_settings(services.topics, resource.resource_name, texts, options)
    elif kind is ResourceType.BROKER:
        replace_broker_settings(services.topics, resource.resource_name, texts, options)
    else:
        raise ApiError(
            f"resources of type {resource.resource_type} cannot be changed by AlterConfigs", ErrorCode.INVALID_REQUEST
        )


def _make_response(resource: AlterConfigsResource, error: ApiError) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
