"""Quotas of users, clients and addresses (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from ...protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from ..errors import raise_if_error
from ..operation import Operation, ask
from .outcome import Outcome, outcome_of

QuotaEntity = Mapping[str, str | None]
"""Names by their types: `user`, `client-id` or `ip`; None is the default of a type."""
EXACT, DEFAULT, ANY = 0, 1, 2


def describe_quotas(names: QuotaEntity, of_any: Sequence[str] = ()) -> Operation[list[dict[str, Any]]]:
    """The quotas of entities with exactly these names, and with any name for the types in `of_any`, ready for JSON.

    Raises: KafkaError.
    """
    components = [
        ComponentData(entity_type=kind, match_type=DEFAULT if name is None else EXACT, match=name)
        for kind, name in names.items()
    ]
    components += [ComponentData(entity_type=kind, match_type=ANY, match=None) for kind in of_any]
    response = yield from ask(DescribeClientQuotasRequest(components=components, strict=True))
    raise_if_error("quotas", response)
    return [
        {
            "entity": {each.entity_type: each.entity_name for each in entry.entity},
            "quotas": {each.key: each.value for each in entry.values},
        }
        for entry in response.entries or ()
    ]


def alter_quotas(
    names: QuotaEntity, changed: Mapping[str, float], removed: Sequence[str] = (), *, validate_only: bool = False
) -> Operation[Outcome]:
    """Sets some quotas of an entity, and removes others."""
    entity = [EntityData(entity_type=kind, entity_name=name) for kind, name in names.items()]
    operations = [OpData(key=key, value=value, remove=False) for key, value in changed.items()]
    operations += [OpData(key=key, value=0.0, remove=True) for key in removed]
    request = AlterClientQuotasRequest(entries=[EntryData(entity=entity, ops=operations)], validate_only=validate_only)
    response = yield from ask(request)
    return outcome_of(" ".join(names), response.entries[0])
