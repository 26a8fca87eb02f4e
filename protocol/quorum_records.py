"""Control records of `__cluster_metadata` and its snapshots: who leads, and where a snapshot begins and ends.

Each stands in a control batch: key int16 version 0, int16 type; the value is one of these messages, the first field of
which repeats its version. Source: Kafka 3.9 `ControlRecordType`, `ControlRecordUtils` (KIP-595, 630, 853).
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final
from uuid import UUID

from .errors import MalformedFrame
from .schema import (
    array,
    decode,
    encode,
    int16,
    int32,
    int64,
    message,
    schema_of,
    string,
    struct,
    structure,
    uint16,
    uuid,
)

_KEY: Final = Struct(">hh")


@struct
class LeaderVoter:
    voter_id: int = int32()
    voter_directory_id: UUID = uuid("1+", ignorable=True)


@message(versions="0-1", flexible="0+")
class LeaderChangeMessage:
    version: int = int16()
    leader_id: int = int32()
    voters: Sequence[LeaderVoter] = array(LeaderVoter)
    granting_voters: Sequence[LeaderVoter] = array(LeaderVoter)


@message(versions="0", flexible="0+")
class SnapshotHeaderRecord:
    version: int = int16()
    last_contained_log_timestamp: int = int64()


@message(versions="0", flexible="0+")
class SnapshotFooterRecord:
    version: int = int16()


@message(versions="0", flexible="0+")
class KRaftVersionRecord:
    version: int = int16()
    kraft_version: int = int16()


@struct
class VoterEndpoint:
    name: str = string()
    host: str = string()
    port: int = uint16()


@struct
class VersionRange:
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@struct
class Voter:
    voter_id: int = int32()
    voter_directory_id: UUID = uuid()
    endpoints: Sequence[VoterEndpoint] = array(VoterEndpoint)
    kraft_version_feature: VersionRange = structure(VersionRange)


@message(versions="0", flexible="0+")
class VotersRecord:
    version: int = int16()
    voters: Sequence[Voter] = array(Voter)


_TYPES: Final[Mapping[int, type[Any]]] = {
    2: LeaderChangeMessage,
    3: SnapshotHeaderRecord,
    4: SnapshotFooterRecord,
    5: KRaftVersionRecord,
    6: VotersRecord,
}
_NUMBERS: Final = {record_class: number for number, record_class in _TYPES.items()}


def decode_control_record(key: memoryview, value: memoryview) -> Any:
    """The record behind key and value.

    Raises: MalformedFrame, also for a type or a version that is not known.
    """
    if len(key) < _KEY.size or len(value) < 2:
        raise MalformedFrame(f"a control record has a key of {len(key)} bytes and a value of {len(value)}")
    kind = _KEY.unpack_from(key)[1]
    version = int.from_bytes(value[:2], "big", signed=True)
    record_class = _TYPES.get(kind)
    if record_class is None or version not in (schema_of(record_class).versions or ()):
        raise MalformedFrame(f"a control record has type {kind}, version {version}, which is not known")
    return decode(record_class, version, value)


def encode_control_record(record: Any) -> tuple[bytes, bytes]:
    """Key and value of the record."""
    pieces = encode(record, record.version)
    return _KEY.pack(0, _NUMBERS[type(record)]), b"".join(bytes(piece) for piece in pieces)  # type: ignore[arg-type]
