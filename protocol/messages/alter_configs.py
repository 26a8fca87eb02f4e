"""AlterConfigs (key 33), versions 0–2, flexible from 2.

Replaces all dynamic settings of a resource; IncrementalAlterConfigs changes single ones.
"""

from collections.abc import Sequence

from ..schema import array, boolean, int8, int16, int32, message, string, struct


@struct
class AlterableConfig:
    name: str = string()
    value: str | None = string(nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: int = int8()
    resource_name: str = string()
    configs: Sequence[AlterableConfig] = array(AlterableConfig)


@message(versions="0-2", flexible="2+")
class AlterConfigsRequest:
    """Resources and their new settings."""

    resources: Sequence[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


@struct
class AlterConfigsResourceResponse:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()


@message(versions="0-2", flexible="2+")
class AlterConfigsResponse:
    """How that went, per resource."""

    throttle_time_ms: int = int32()
    responses: Sequence[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
