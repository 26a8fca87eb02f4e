"""AlterClientQuotas, versions 0-1 (KIP-546): sets or removes quotas of users, clients and addresses.

Each entity succeeds or fails as a whole and for itself; all that succeed are on the
disk, by one write, and in force when the answer goes out. v1 is flexible.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...network.worker_threads import drop_traceback
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    ResponseEntryData,
)
from ...storage.metadata.cluster_state import QuotaEntity
from ..dispatch.call import Call
from ..quotas.quota_types import check_entity, quotas_after

if TYPE_CHECKING:
    from ..services import Services

NONE = ApiError("", ErrorCode.NONE)


async def handle(services: "Services", request: AlterClientQuotasRequest, call: Call) -> AlterClientQuotasResponse:
    changes: dict[QuotaEntity, dict[str, float | None]] = {}
    results = []
    for entry in request.entries:
        error = NONE
        try:
            entity = _read_entity(entry.entity)
            if entity in changes:
                raise ApiError("the entity is given more than once", ErrorCode.INVALID_REQUEST)
            operations = _read_operations(entry)
            quotas_after(entity, {}, operations)
            changes[entity] = operations
        except ApiError as fault:
            drop_traceback(fault)
            error = fault
        results.append(_make_result(entry, error))
        await call.turn.next()
    if changes and not request.validate_only:
        with services.topics.store.change(sync=False, quotas=changes) as state:
            quotas = state.client_quotas = dict(state.client_quotas)
            for entity, operations in changes.items():
                quotas[entity] = quotas_after(entity, quotas.get(entity, {}), operations)
                if not quotas[entity]:
                    del quotas[entity]
        services.topics.notify_client_change()
    return AlterClientQuotasResponse(entries=results)


def refuse(request: AlterClientQuotasRequest, error: ApiError, call: Call) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(entries=[_make_result(entry, error) for entry in request.entries])


def _read_entity(parts: Sequence[EntityData]) -> QuotaEntity:
    """Raises ApiError INVALID_REQUEST."""
    names = {part.entity_type: part.entity_name for part in parts}
    if len(names) < len(parts):
        raise ApiError("an entity type is named twice", ErrorCode.INVALID_REQUEST)
    check_entity(names)
    return tuple(sorted(names.items()))


def _read_operations(entry: EntryData) -> dict[str, float | None]:
    """The new value of each key, None to remove it. Raises ApiError INVALID_REQUEST."""
    operations = {each.key: None if each.remove else each.value for each in entry.ops}
    if len(operations) < len(entry.ops):
        raise ApiError("a quota is named twice for one entity", ErrorCode.INVALID_REQUEST)
    return operations


def _make_result(entry: EntryData, error: ApiError) -> ResponseEntryData:
    return ResponseEntryData(error_code=error.code, error_message=error.message, entity=entry.entity)
