"""The quotas, and the entities that may have them (Kafka 3.9 `ClientQuotaControlManager`).

| entity | quotas |
|---|---|
| user, client-id | producer_byte_rate, consumer_byte_rate (whole), request_percentage, controller_mutation_rate |
| ip | connection_creation_rate (whole) |

A quota may name a user and a client id together, but an address only alone. A null name is the default of its type.
"""

import ipaddress
import math
import re
from collections.abc import Mapping

from ...protocol.errors import ApiError, ErrorCode
from ...storage.metadata.cluster_state import QuotaEntity
from .quota_lookup import CLIENT_ID, IP, USER

ENTITY_TYPES = (USER, CLIENT_ID, IP)

MAX_LONG = 2**63 - 1
MAX_INT = 2**31 - 1

# The largest whole number a quota may have; None where fractions are allowed.
CLIENT_KEYS: Mapping[str, int | None] = {
    "producer_byte_rate": MAX_LONG,
    "consumer_byte_rate": MAX_LONG,
    "request_percentage": None,
    "controller_mutation_rate": None,
}
IP_KEYS: Mapping[str, int | None] = {"connection_creation_rate": MAX_INT}

_HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_TOLERANCE = 1e-6


def check_entity(names: Mapping[str, str | None]) -> None:
    """Raises ApiError INVALID_REQUEST."""
    if not names:
        raise ApiError("a quota needs an entity", ErrorCode.INVALID_REQUEST)
    for kind, name in names.items():
        if kind not in ENTITY_TYPES:
            raise ApiError(f"entity type {kind!r} is not known", ErrorCode.INVALID_REQUEST)
        if name == "":
            raise ApiError(f"the name of a {kind} is empty", ErrorCode.INVALID_REQUEST)
    if IP in names and len(names) > 1:
        raise ApiError("addresses have no quotas together with users or clients", ErrorCode.INVALID_REQUEST)
    address = names.get(IP)
    if address is not None and not _is_address(address):
        raise ApiError(f"{address!r} is neither an IP address nor a host name", ErrorCode.INVALID_REQUEST)


def quotas_after(
    entity: QuotaEntity, before: Mapping[str, float], operations: Mapping[str, float | None]
) -> dict[str, float]:
    """The quotas of an entity after the operations (None: remove). Raises ApiError INVALID_REQUEST."""
    known = IP_KEYS if dict(entity).keys() == {IP} else CLIENT_KEYS
    quotas = dict(before)
    for key, value in operations.items():
        if value is None:
            quotas.pop(key, None)
            continue
        _check_value(key, value, known)
        quotas[key] = value
    return quotas


def _check_value(key: str, value: float, known: Mapping[str, int | None]) -> None:
    if key not in known:
        raise ApiError(f"{key!r} is not a quota of this type of entity", ErrorCode.INVALID_REQUEST)
    most = known[key]
    if not value > 0:
        raise ApiError(f"{key}: a number above 0 expected, found {value}", ErrorCode.INVALID_REQUEST)
    if most is not None and (value > most or math.fmod(value, 1) > _TOLERANCE):
        raise ApiError(f"{key}: a whole number up to {most} expected, found {value}", ErrorCode.INVALID_REQUEST)


def _is_address(text: str) -> bool:
    """Whether the text can be an address or a host name; names are not looked up."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return _HOST.fullmatch(text) is not None
    return True
