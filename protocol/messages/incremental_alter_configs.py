"""IncrementalAlterConfigs (key 44), versions 0–1, flexible from 1.

Sets, deletes, appends to or subtracts from single settings (KIP-339).
"""

from collections.abc import Sequence

from ..schema import array, boolean, int8, int16, int32, message, string, struct


@struct
class AlterableConfig:
    name: str = string()
    config_operation: int = int8()
    value: str | None = string(nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: int = int8()
    resource_name: str = string()
    configs: Sequence[AlterableConfig] = array(AlterableConfig)


@message(versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest:
    """Resources and changes."""

    resources: Sequence[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


@struct
class AlterConfigsResourceResponse:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()


@message(versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse:
    """How that went, per resource."""

    throttle_time_ms: int = int32()
    responses: Sequence[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
