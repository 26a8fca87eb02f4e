"""Which versions clients are offered: those of the cluster, and older ones that are translated.

    translated    versions up to `last` are sent as `sent_as`, if the cluster has that version and not the older ones
    capped        a version is not offered if the gateway does not know where its answers have addresses of brokers
    lowered       Fetch 16 to 18 is sent as 15: these versions add to the request only fields for followers,
                  and to the response only broker addresses, which come after all records; clients ask for Metadata
                  instead

ApiVersions answers are changed in place: version ranges keep their size. Kafka 4 advertises Produce from version 0,
but refuses those below 3 (KIP-896). Whether a broker refuses them is seen from the versions it offers for Fetch.

    ApiVersions answer   error int16 | v0-v2: int32 count, v3+: uvarint count + 1 | per API int16 key, min, max (v3+:
                         tagged fields) | …
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from struct import Struct
from typing import NamedTuple, cast

from ..client.versions import VersionRange, VersionRanges
from ..protocol.api import API, ApiKey
from ..protocol.errors import ErrorCode, MalformedFrame
from ..protocol.frame import decode_response_body, encode_response
from ..protocol.primitives import read_uvarint, skip_tagged_fields, write_uvarint

FLEXIBLE_FROM = 3
MOST_APIS = 1_000
NOT_OFFERED: VersionRange = (0, -1)
TRANSACTION_VERSION = "transaction.version"
TRANSACTION_V2_FROM = 12
"""The version of Produce from which on leaders add partitions to transactions."""
_RESPONSE_HEAD = Struct(">ii")
_RANGE = Struct(">hhh")
_ERROR = Struct(">h")
_COUNT = Struct(">i")


class TranslatedVersions(NamedTuple):
    """Versions 0 to `last` become `sent_as`."""

    last: int
    sent_as: int


TRANSLATED: Mapping[int, TranslatedVersions] = {
    ApiKey.PRODUCE: TranslatedVersions(2, 3),
    ApiKey.FETCH: TranslatedVersions(3, 4),
    ApiKey.LIST_OFFSETS: TranslatedVersions(0, 1),
    ApiKey.OFFSET_COMMIT: TranslatedVersions(1, 2),
    ApiKey.OFFSET_FETCH: TranslatedVersions(0, 1),
    ApiKey.JOIN_GROUP: TranslatedVersions(1, 2),
    ApiKey.CREATE_TOPICS: TranslatedVersions(1, 2),
    ApiKey.DELETE_TOPICS: TranslatedVersions(0, 1),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: TranslatedVersions(1, 2),
    ApiKey.DESCRIBE_ACLS: TranslatedVersions(0, 1),
    ApiKey.CREATE_ACLS: TranslatedVersions(0, 1),
    ApiKey.DELETE_ACLS: TranslatedVersions(0, 1),
    ApiKey.DESCRIBE_CONFIGS: TranslatedVersions(0, 1),
    ApiKey.ALTER_REPLICA_LOG_DIRS: TranslatedVersions(0, 1),
    ApiKey.DESCRIBE_LOG_DIRS: TranslatedVersions(0, 1),
    ApiKey.CREATE_DELEGATION_TOKEN: TranslatedVersions(0, 1),
    ApiKey.RENEW_DELEGATION_TOKEN: TranslatedVersions(0, 1),
    ApiKey.EXPIRE_DELEGATION_TOKEN: TranslatedVersions(0, 1),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: TranslatedVersions(0, 1),
}

NEWEST: Mapping[int, int] = {
    ApiKey.PRODUCE: 13,
    ApiKey.FETCH: 18,
    ApiKey.METADATA: 13,
    ApiKey.FIND_COORDINATOR: 6,
    ApiKey.API_VERSIONS: 5,
    ApiKey.DESCRIBE_QUORUM: 2,
    ApiKey.DESCRIBE_CLUSTER: 2,
    ApiKey.SHARE_FETCH: 2,
    ApiKey.SHARE_ACKNOWLEDGE: 2,
}
"""The newest offered version of each API whose answers have brokers: those of Kafka 4.4."""
OLDEST: Mapping[int, int] = {ApiKey.SHARE_FETCH: 1, ApiKey.SHARE_ACKNOWLEDGE: 1}
"""Kafka 4.0 had a version 0, a preview with another layout."""
LOWERED: Mapping[int, int] = {ApiKey.FETCH: 15}
"""Newer versions are sent as this one, which has the same layout except for tagged fields."""
BETWEEN_BROKERS = frozenset(
    (
        *(ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN),
        *(ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_PARTITION),
    )
)
TOKEN_REQUESTS = frozenset(
    (
        *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN),
        *(ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN),
    )
)
"""A client could make a token for the gateway's user, and log in to the cluster with it directly until it expires."""


def correct_advertised_ranges(advertised: VersionRanges) -> VersionRanges:
    """The ranges that a broker really takes: Kafka 4 advertises Produce 0 and takes 3."""
    low, high = advertised.get(ApiKey.PRODUCE, NOT_OFFERED)
    if low == 0 and high >= TRANSLATED[ApiKey.PRODUCE].sent_as:
        fetch_low, _ = advertised.get(ApiKey.FETCH, NOT_OFFERED)
        if fetch_low >= TRANSLATED[ApiKey.FETCH].sent_as:
            return {**advertised, ApiKey.PRODUCE: (TRANSLATED[ApiKey.PRODUCE].sent_as, high)}
    return advertised


def is_translated(key: int, version: int, taken: VersionRange) -> bool:
    """Whether a request of that version is translated: the cluster does not take it, but takes the one it is sent
    as."""
    known = TRANSLATED.get(key)
    low, high = taken
    return known is not None and 0 <= version <= known.last and version < low <= known.sent_as <= high


def range_to_offer(key: int, taken: VersionRange) -> VersionRange:
    """The versions of an API to offer to clients if the cluster takes those in `taken`."""
    low, high = taken
    low = max(low, OLDEST.get(key, low))
    if low > 0 and is_translated(key, low - 1, taken):
        low = 0
    return low, min(high, NEWEST.get(key, high))


def rewrite_api_versions(
    version: int, body: bytes, offer: Callable[[int, VersionRange], VersionRange] = range_to_offer
) -> bytes:
    """Returns the body of an ApiVersions answer of that version, with the offered ranges.

    With the feature `transaction.version` clients do not add partitions to transactions (KIP-890). It is left out if
    Produce is not offered in the versions that this needs.

    Raises: MalformedFrame.
    """
    view = memoryview(body)
    is_flexible = version >= FLEXIBLE_FROM
    if len(view) < _ERROR.size + _COUNT.size or _ERROR.unpack_from(view)[0] == ErrorCode.UNSUPPORTED_VERSION:
        return body
    count, at = _read_range_count(view, is_flexible)
    if not 0 <= count <= MOST_APIS:
        raise MalformedFrame(f"an ApiVersions answer with {count} APIs")
    entries = []
    for _ in range(count):
        if at + _RANGE.size > len(view):
            raise MalformedFrame("an ApiVersions answer that ends within an API")
        key, low, high = _RANGE.unpack_from(view, at)
        at += _RANGE.size
        end = skip_tagged_fields(view, at) if is_flexible else at
        entries.append((key, (low, high), view[at:end]))
        at = end
    taken = correct_advertised_ranges({key: versions for key, versions, _ in entries})
    kept = []
    for key, _, tags in entries:
        low, high = offer(key, taken[key])
        if low <= high:
            kept.append(_RANGE.pack(key, low, high) + tags)
    length = write_uvarint(len(kept) + 1) if is_flexible else _COUNT.pack(len(kept))
    offered = b"".join((view[: _ERROR.size], length, *kept, view[at:]))
    newest = taken.get(ApiKey.PRODUCE, NOT_OFFERED)[1]
    if is_flexible and offer(ApiKey.PRODUCE, (0, newest))[1] < TRANSACTION_V2_FROM <= newest:
        return _without_transaction_version(version, offered)
    return offered


def _without_transaction_version(version: int, body: bytes) -> bytes:
    spec = API[ApiKey.API_VERSIONS]
    version = min(version, spec.max_version)  # version 5 has the layout of 4
    response = decode_response_body(spec, version, memoryview(body))
    left = [each for each in response.finalized_features if each.name != TRANSACTION_VERSION]
    pieces = encode_response(spec, version, 0, replace(response, finalized_features=left))
    return b"".join(cast("list[bytes]", pieces))[_RESPONSE_HEAD.size :]


def encode_unsupported_api_versions(newest: int) -> bytes:
    """The body, in the layout of v0, that tells a client to ask in an older version (KIP-511)."""
    only = _RANGE.pack(ApiKey.API_VERSIONS, 0, newest)
    return _ERROR.pack(ErrorCode.UNSUPPORTED_VERSION) + _COUNT.pack(1) + only


def encode_refused_api_versions(code: ErrorCode) -> bytes:
    """The body of an answer of v0 with only an error."""
    return _ERROR.pack(code) + _COUNT.pack(0)


def _read_range_count(view: memoryview, is_flexible: bool) -> tuple[int, int]:
    if is_flexible:
        count, at = read_uvarint(view, _ERROR.size)
        return count - 1, at
    return _COUNT.unpack_from(view, _ERROR.size)[0], _ERROR.size + _COUNT.size
