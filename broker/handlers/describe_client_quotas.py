"""DescribeClientQuotas, versions 0-1 (KIP-546): the quotas of users, clients and addresses.

A filter names entity types and, for each, an exact name (0), the default entity (1), or any (2). `strict`: no other
types may be part of the entity. v1 is flexible.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from ...storage.metadata.cluster_state import QuotaEntity
from ..dispatch.call import Call
from ..quotas.quota_lookup import CLIENT_ID, IP, USER
from ..quotas.quota_types import ENTITY_TYPES

if TYPE_CHECKING:
    from ..services import Services

EXACT = 0
DEFAULT = 1
SPECIFIED = 2


async def handle(
    services: "Services", request: DescribeClientQuotasRequest, call: Call
) -> DescribeClientQuotasResponse:
    _ensure_valid(request.components)
    quotas = services.topics.store.state.client_quotas
    entries = []
    for entity, values in tuple(quotas.items()):
        if _matches(entity, request):
            entries.append(
                EntryData(
                    entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                    values=[ValueData(key=key, value=value) for key, value in values.items()],
                )
            )
        await call.turn.next()
    return DescribeClientQuotasResponse(error_message=None, entries=entries)


def refuse(request: DescribeClientQuotasRequest, error: ApiError, call: Call) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)


def _ensure_valid(components: Sequence[ComponentData]) -> None:
    """Raises ApiError INVALID_REQUEST or UNSUPPORTED_VERSION."""
    for component in components:
        _ensure_valid_component(component)
    kinds = [component.entity_type for component in components]
    if len(set(kinds)) < len(kinds):
        raise ApiError("an entity type is named twice", ErrorCode.INVALID_REQUEST)
    if IP in kinds and (USER in kinds or CLIENT_ID in kinds):
        raise ApiError("addresses have no quotas together with users or clients", ErrorCode.INVALID_REQUEST)


def _ensure_valid_component(component: ComponentData) -> None:
    kind, match_type = component.entity_type, component.match_type
    if not kind:
        raise ApiError("an entity type is empty", ErrorCode.INVALID_REQUEST)
    if kind not in ENTITY_TYPES:
        raise ApiError(f"entity type {kind!r} is not known", ErrorCode.UNSUPPORTED_VERSION)
    if match_type not in (EXACT, DEFAULT, SPECIFIED):
        raise ApiError(f"match type {match_type} is not known", ErrorCode.INVALID_REQUEST)
    if (component.match is None) == (match_type == EXACT):
        raise ApiError(f"{kind}: a name is needed for an exact match, and only for that", ErrorCode.INVALID_REQUEST)


def _matches(entity: QuotaEntity, request: DescribeClientQuotasRequest) -> bool:
    names = dict(entity)
    if request.strict and len(names) != len(request.components):
        return False
    return all(
        component.entity_type in names
        and (component.match_type == SPECIFIED or names[component.entity_type] == component.match)
        for component in request.components
    )
