"""Which quota holds for a user and a client id, and who shares it.

The first of these that is set; `*` is the default of its kind:

    user + client, user + *, user, * + client, * + *, *, client, client *

A quota of a pair is shared by the connections of that user with that client id, one of a user by all of that user's,
one of a client by all users with that client id. Source: KIP-55, Kafka 3.9 `ClientQuotaManager`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...config.keys.ip_address import address_forms, canonical_address
from ...storage.metadata.cluster_state import QuotaEntity

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

Entity = tuple[str, str]
"""(user, client id), as they share a quota; "" for whichever."""


class Quota(NamedTuple):
    """Who shares it, and how much they may take."""

    entity: Entity
    bound: float


class QuotaTable:
    """The quotas of one key, such as `producer_byte_rate`."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str) -> None:
        self._by_names: dict[QuotaEntity, float] = {
            _comparable(entity): values[key] for entity, values in quotas.items() if key in values
        }

    def __bool__(self) -> bool:
        return bool(self._by_names)

    def find(self, user: str, client_id: str) -> Quota | None:
        """None: there is no limit."""
        pair, of_user, of_client = (user, client_id), (user, ""), ("", client_id)
        for entity, names in (
            (pair, ((CLIENT_ID, client_id), (USER, user))),
            (pair, ((CLIENT_ID, None), (USER, user))),
            (of_user, ((USER, user),)),
            (pair, ((CLIENT_ID, client_id), (USER, None))),
            (pair, ((CLIENT_ID, None), (USER, None))),
            (of_user, ((USER, None),)),
            (of_client, ((CLIENT_ID, client_id),)),
            (of_client, ((CLIENT_ID, None),)),
        ):
            bound = self._by_names.get(names)
            if bound is not None:
                return Quota(entity, bound)
        return None

    def of_address(self, address: str) -> float | None:
        """The quota of an address, or of all; None: there is no limit."""
        for name in (*address_forms(address), None):
            bound = self._by_names.get(((IP, name),))
            if bound is not None:
                return bound
        return None


def _comparable(entity: QuotaEntity) -> QuotaEntity:
    if entity[0][0] != IP:  # an address has quotas by itself
        return entity
    return tuple((kind, canonical_address(name) if name else name) for kind, name in entity)
