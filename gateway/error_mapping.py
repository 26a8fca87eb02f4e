"""Replaces error codes that a client's release does not know by ones that it knows, retriable by retriable.

The version of a request shows the oldest release that may have sent it, and so the highest code known there:

    0.8.2  20, without 4, 8, 9, 11, 14-16       0.9  31       0.10.0  35       0.10.1  43       0.10.2  44
    0.11  55       1.0  60       1.1  71
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from operator import is_not
from typing import Any, NamedTuple, TypeVar, cast

from ..network.turn import Turn
from ..protocol.api import ApiKey
from ..protocol.errors import ErrorCode, code_of
from ..protocol.primitives import Primitive
from ..protocol.schema import schema_of

T = TypeVar("T")
UNKNOWN_TO_0_8 = frozenset((4, 8, 9, 11, 14, 15, 16))
V0_8, V0_9, V0_10_0, V0_10_1, V0_10_2, V0_11, V1_0, V1_1 = 20, 31, 35, 43, 44, 55, 60, 71
"""Releases, by the highest code that they know."""

OLDEST: dict[int, tuple[int, ...]] = {
    ApiKey.PRODUCE: (V0_8, V0_9, V0_10_0),
    ApiKey.FETCH: (V0_8, V0_9, V0_10_0, V0_10_1),
    ApiKey.LIST_OFFSETS: (V0_8,),
    ApiKey.OFFSET_COMMIT: (V0_8, V0_8),
    ApiKey.OFFSET_FETCH: (V0_8,),
    ApiKey.JOIN_GROUP: (V0_9, V0_10_1),
    ApiKey.CREATE_TOPICS: (V0_10_1, V0_10_2),
    ApiKey.DELETE_TOPICS: (V0_10_1,),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (V0_11, V0_11),
    ApiKey.DESCRIBE_ACLS: (V0_11,),
    ApiKey.CREATE_ACLS: (V0_11,),
    ApiKey.DELETE_ACLS: (V0_11,),
    ApiKey.DESCRIBE_CONFIGS: (V0_11,),
}
"""By API, for each translated version from 0 on."""


class ErrorFamily(NamedTuple):
    """The codes that replace unknown ones, for a group of similar APIs."""

    retriable: int
    storage: int = -1
    throttled: int = 7
    offset_not_available: int | None = None
    replica_not_available: int | None = None


PRODUCE = ErrorFamily(retriable=7, storage=6, throttled=7, replica_not_available=6)
FETCH = ErrorFamily(retriable=6, storage=6, throttled=7, offset_not_available=5, replica_not_available=6)
GROUPS = ErrorFamily(retriable=15, storage=15, throttled=15)
OTHERS = ErrorFamily(retriable=7)
FAMILIES = {
    ApiKey.PRODUCE: PRODUCE,
    ApiKey.FETCH: FETCH,
    ApiKey.LIST_OFFSETS: FETCH,
    ApiKey.OFFSET_COMMIT: GROUPS,
    ApiKey.OFFSET_FETCH: GROUPS,
    ApiKey.JOIN_GROUP: GROUPS,
}
MEMBER_FAULTS = frozenset((79, 82, 110, 113))
COORDINATOR_FAULTS = frozenset((14, 15, 16))
STORAGE_FAULTS = frozenset((56, 74, 75))
THROTTLED = frozenset((89, 51))
TOPIC_IDS = frozenset((100, 103))
FATAL = frozenset((29, 30, 31, 32, 44, 45, 47, 76, 87))


def map_error_code(key: int, version: int, code: int) -> int:
    """The code for a client of that version of an API in place of the cluster's `code`."""
    family = FAMILIES.get(ApiKey(key), OTHERS)
    if code == ErrorCode.UNSUPPORTED_VERSION:  # made by translations/list_offsets.py, as by Kafka 3.9
        return code
    if _is_known_to(OLDEST[key][version], code) or (family is GROUPS and code in COORDINATOR_FAULTS):
        return code
    if family is GROUPS and code in MEMBER_FAULTS:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return _replace_code(family, code)


def _is_known_to(highest: int, code: int) -> bool:
    return code <= highest and not (highest == V0_8 and code in UNKNOWN_TO_0_8)


def _replace_code(family: ErrorFamily, code: int) -> int:
    if code in STORAGE_FAULTS:
        return family.storage
    if code in THROTTLED:
        return family.throttled
    if code in TOPIC_IDS:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if code in FATAL:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    if code == ErrorCode.OFFSET_NOT_AVAILABLE and family.offset_not_available is not None:
        return family.offset_not_available
    if code == ErrorCode.REPLICA_NOT_AVAILABLE and family.replica_not_available is not None:
        return family.replica_not_available
    return family.retriable if code_of(code).retriable else ErrorCode.UNKNOWN_SERVER_ERROR


async def map_errors(value: T, map_code: Callable[[int], int], turn: Turn) -> T:
    """Returns the response with `map_code` applied to each `error_code` in it."""
    response, kind = cast(Any, value), cast(Any, type(value))
    has_code, lists = _find_error_fields(kind)
    changes: dict[str, Any] = {}
    if has_code and (code := map_code(response.error_code)) != response.error_code:
        changes["error_code"] = code
    for name in lists:
        found = getattr(response, name) or ()
        mapped = [await map_errors(each, map_code, turn) for each in found]
        if any(map(is_not, mapped, found)):
            changes[name] = mapped
    await turn.next()
    mapped_value: T = replace(response, **changes) if changes else value
    return mapped_value


@cache
def _find_error_fields(cls: type) -> tuple[bool, Sequence[str]]:
    """Whether a message class has an `error_code`, and which of its list fields hold messages with one."""
    fields = schema_of(cls).fields
    has_code = any(field.name == "error_code" for field in fields)
    elements = {field.name: field.element for field in fields if field.kind is Primitive.ARRAY}
    return has_code, [name for name, each in elements.items() if each is not None and any(_find_error_fields(each))]
