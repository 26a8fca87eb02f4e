"""AlterClientQuotas (key 49), versions 0–1, flexible from 1.

Sets or removes quotas of users, clients and addresses (KIP-546).
"""

from collections.abc import Sequence

from ..schema import array, boolean, float64, int16, int32, message, string, struct


@struct
class EntityData:
    entity_type: str = string()
    entity_name: str | None = string(nullable="0+")


@struct
class OpData:
    key: str = string()
    value: float = float64()
    remove: bool = boolean()


@struct
class EntryData:
    entity: Sequence[EntityData] = array(EntityData)
    ops: Sequence[OpData] = array(OpData)


@message(versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    """Entities and changes."""

    entries: Sequence[EntryData] = array(EntryData)
    validate_only: bool = boolean()


@struct
class ResponseEntryData:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    entity: Sequence[EntityData] = array(EntityData)


@message(versions="0-1", flexible="1+")
class AlterClientQuotasResponse:
    """How that went, per entity."""

    throttle_time_ms: int = int32()
    entries: Sequence[ResponseEntryData] = array(ResponseEntryData)
