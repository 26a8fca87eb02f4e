"""DescribeClientQuotas (key 48), versions 0–1, flexible from 1.

Shows quotas of users, clients and addresses (KIP-546).
"""

from collections.abc import Sequence

from ..schema import array, boolean, float64, int8, int16, int32, message, string, struct


@struct
class ComponentData:
    entity_type: str = string()
    match_type: int = int8()
    match: str | None = string(nullable="0+")


@message(versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    """A filter over entities."""

    components: Sequence[ComponentData] = array(ComponentData)
    strict: bool = boolean()


@struct
class EntityData:
    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


@struct
class ValueData:
    key: str = string()
    value: float = float64()


@struct
class EntryData:
    entity: Sequence[EntityData] = array(EntityData)
    values: Sequence[ValueData] = array(ValueData)


@message(versions="0-1", flexible="1+")
class DescribeClientQuotasResponse:
    """The entities found and their quotas."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entries: Sequence[EntryData] | None = array(EntryData, nullable="0+")
