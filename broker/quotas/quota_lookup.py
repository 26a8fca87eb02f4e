"""Finds the quota for a user and a client id, and who shares it.

The first of these that is set counts; `*` is the default of its kind:

    user + client, user + *, user, * + client, * + *, *, client, client *

The connections of a user with a client id share a quota of that pair; all connections of a user share a quota of the
user; all users with a client id share a quota of the client. Source: KIP-55, Kafka 3.9 `ClientQuotaManager`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...config.keys.ip_address import address_forms, canonical_address
from ...storage.metadata.cluster_state import QuotaEntity

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

_NOTHING: Mapping[str, float] = {}

Entity = tuple[str, str]
"""The (user, client id) that share a quota; "" for any."""


class Quota(NamedTuple):
    """A quota: the entity that shares it, and the bound."""

    entity: Entity
    bound: float


class QuotaTable:
    """The quotas of one key, such as `producer_byte_rate`; a view of `quotas`, which may be very many."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str) -> None:
        self._quotas = quotas
        self._key = key
        self._is_set = any(key in values for values in quotas.values())

    def __bool__(self) -> bool:
        return self._is_set

    def find(self, user: str, client_id: str) -> Quota | None:
        """The quota of this user and client id; None for no limit."""
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
            bound = self._quotas.get(names, _NOTHING).get(self._key)
            if bound is not None:
                return Quota(entity, bound)
        return None


class AddressQuotas:
    """The quotas of addresses, such as `connection_creation_rate`."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]], key: str) -> None:
        self._by_address = {
            canonical_address(name) if name else name: values[key]
            for ((kind, name), *_), values in quotas.items()
            if kind == IP and key in values  # an address is never part of a pair
        }

    def __bool__(self) -> bool:
        return bool(self._by_address)

    def of_address(self, address: str) -> float | None:
        """The quota of the address, or the default one; None for no limit."""
        for name in (*address_forms(address), None):
            bound = self._by_address.get(name)
            if bound is not None:
                return bound
        return None
