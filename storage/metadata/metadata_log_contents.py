"""Reads all of `__cluster_metadata-0`.

    <20 digits end offset>-<10 digits epoch>.checkpoint     a snapshot: batches with the whole state
    <20 digits base offset>.log                             batches with changes

It reads the newest snapshot, then the log from the snapshot's end offset on. A log that ends before the snapshot is
ignored. So is an incomplete or damaged batch at the very end: it was being written when its writer stopped. Damage with
whole batches after it is refused, and so are missing offsets. Files with other endings (`.part`, `.deleted`, indexes)
are ignored. Source: Kafka 3.9 `Snapshots`, `KafkaMetadataLog`, `MetadataBatchLoader`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...protocol.errors import CorruptRecord, DiskFault, InvalidRecord, MalformedFrame
from ...protocol.metadata_log import ConfigRecord, RemoveUserScramCredentialRecord, decode_metadata_record
from ...protocol.quorum_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
    decode_control_record,
)
from ...protocol.records.batch import RecordBatch
from ...protocol.records.layout import LOG_OVERHEAD, MAGIC_OFFSET, MAGIC_V2, RECORD_BATCH_OVERHEAD
from ..files.file_names import LOG, METADATA_FOLDER
from ..files.files import Files
from .cluster_state import ClusterState
from .metadata_replay import BROKER_RESOURCE, MetadataReplay

FOLDER = METADATA_FOLDER
MAX_SEGMENT_BYTES = 1 << 31

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_SEGMENT = re.compile(r"(\d{20})" + re.escape(LOG))
_SIZE_AT = 8
_HEAD = re.compile(rb"(?=\x00{2}.{%d}\x02)" % (MAGIC_OFFSET - 2), re.DOTALL)
"""Where a v2 batch may begin: offsets stay below 2^48."""


class DamagedMetadata(DiskFault):
    """The metadata cannot be read; the message names the file and says what to do."""


@dataclass(slots=True, kw_only=True)
class MetadataLogContents:
    """The state, and where the log ends.

    `segment`: the name of the last segment, "" for none; `segment_bytes`: the size of its whole batches. `end_offset`:
    the offset of the next record. `superseded`: segments that end before the snapshot. `voters`: None if the log names
    none.
    """

    state: ClusterState = field(default_factory=ClusterState)
    end_offset: int = 0
    epoch: int = 0
    snapshot_end: int = 0
    segment: str = ""
    segment_bytes: int = 0
    torn_bytes: int = 0
    bytes_since_snapshot: int = 0
    superseded: tuple[str, ...] = ()
    kraft_version: int = 0
    voters: tuple[Voter, ...] | None = None
    is_in_transaction: bool = False
    changed_ms: int = -1
    """The time at which the last batch of metadata was written."""
    is_misread_by_kafka: bool = False
    """Whether the log after the snapshot has a removal that Kafka misreads, or the snapshot is that of a formatted
    directory, at offset 0, which Kafka 4.4.0 ignores beside a log."""


def is_misread_by_kafka(record: Any) -> bool:
    """Whether the record is a removal that Kafka misreads in a log; it reads a snapshot after the removal correctly.

    3.9.1 to 4.4.0 lose the passwords of other users (`ScramDelta.apply`); 4.4.0 keeps a removed setting of a broker
    if an older snapshot has it (`DynamicBrokerConfig.readDynamicBrokerConfigsFromSnapshot`).
    """
    if isinstance(record, ConfigRecord):
        return record.resource_type == BROKER_RESOURCE and record.value is None
    return isinstance(record, RemoveUserScramCredentialRecord)


def read_metadata_log(files: Files, folder: str) -> MetadataLogContents:
    """Reads the log in the folder; nothing is changed. Raises: DamagedMetadata, DiskFault."""
    return _Reader(files, folder).read()


def read_metadata_file(files: Files, path: str) -> ClusterState:
    """Reads the state from one file in the format of a snapshot. Raises: DamagedMetadata, DiskFault."""
    reader = _Reader(files, path.rpartition("/")[0])
    reader.read_snapshot(path.rpartition("/")[2])
    return reader.replay.build_state()


class _Reader:
    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder
        self._found = MetadataLogContents()
        self.replay = MetadataReplay()

    def read(self) -> MetadataLogContents:
        found = self._found
        names = sorted(self._files.names(self._folder))
        snapshots = [match for match in map(_SNAPSHOT.fullmatch, names) if match]
        if snapshots:
            newest = snapshots[-1]
            found.snapshot_end, found.epoch = int(newest[1]), int(newest[2])
            self.read_snapshot(newest[0])
            found.is_misread_by_kafka = found.snapshot_end == 0
        found.end_offset = found.snapshot_end
        self._read_segments([name for name in names if _SEGMENT.fullmatch(name)])
        found.is_in_transaction = self.replay.is_in_transaction
        with self._name_file_in_faults(self._folder):
            found.state = self.replay.build_state()
        return found

    def read_snapshot(self, name: str) -> None:
        data = self._read_file(name)
        kinds: list[type] = []
        position = expected = 0
        for batch in _batches(data):
            self._check_offset(name, batch, expected)
            expected, position = batch.next_offset, position + batch.size_bytes
            kinds += [type(record) for record in self._apply_batch(name, batch, 0)]
        if position < len(data) or SnapshotHeaderRecord not in kinds[:1] or SnapshotFooterRecord not in kinds[-1:]:
            raise self._make_damage(
                name, f"the snapshot is not whole, {position} of {len(data)} bytes are whole batches"
            )

    def _read_segments(self, names: list[str]) -> None:
        found = self._found
        bases = [int(name[:20]) for name in names]
        first = max((n for n, base in enumerate(bases) if base <= found.snapshot_end), default=0)
        if names and bases[first] > found.snapshot_end:
            raise self._make_damage(
                names[first], f"the records from offset {found.snapshot_end} on are in no file, the log begins later"
            )
        for number in range(first, len(names)):
            self._read_segment(names[number], bases[number], is_last=number == len(names) - 1)
        if found.segment and found.end_offset < found.snapshot_end:
            found.superseded, found.segment, found.segment_bytes, found.torn_bytes = tuple(names), "", 0, 0
            found.end_offset = found.snapshot_end

    def _read_segment(self, name: str, base: int, *, is_last: bool) -> None:
        found = self._found
        data = self._read_file(name)
        expected, position = base, 0
        for batch in _batches(data):
            self._check_offset(name, batch, expected)
            expected, position = batch.next_offset, position + batch.size_bytes
            if batch.last_offset >= found.snapshot_end:
                found.epoch = max(found.epoch, batch.partition_leader_epoch)
                found.bytes_since_snapshot += batch.size_bytes
                self._apply_batch(name, batch, found.snapshot_end)
        found.segment, found.segment_bytes, found.torn_bytes = name, position, len(data) - position
        found.end_offset = expected
        if found.torn_bytes and (not is_last or _has_batch(data, position)):
            raise self._make_damage(name, f"the batch at position {position} is damaged, and others follow it")

    def _check_offset(self, name: str, batch: RecordBatch, expected: int) -> None:
        if batch.base_offset != expected:
            raise self._make_damage(name, f"offset {expected} was expected, found {batch.base_offset}")

    def _apply_batch(self, name: str, batch: RecordBatch, start: int) -> list[Any]:
        """Applies the records of the batch from the offset `start` on; returns them, with None for unknown ones."""
        taken = []
        with self._name_file_in_faults(name):
            for record in batch.records():
                if record.offset < start:
                    continue
                value = memoryview(record.value or b"")
                if batch.is_control:
                    decoded = decode_control_record(memoryview(record.key or b""), value)
                    self._note_quorum(decoded)
                else:
                    decoded = decode_metadata_record(value)
                    if decoded is not None:
                        self.replay.apply(decoded)
                        self._found.is_misread_by_kafka |= is_misread_by_kafka(decoded)
                        if not self.replay.is_in_transaction:
                            self._found.changed_ms = batch.max_timestamp
                taken.append(decoded)
        return taken

    def _note_quorum(self, record: Any) -> None:
        if isinstance(record, KRaftVersionRecord):
            self._found.kraft_version = record.kraft_version
        elif isinstance(record, VotersRecord):
            self._found.voters = tuple(record.voters)

    def _read_file(self, name: str) -> memoryview:
        return memoryview(self._files.read_whole(f"{self._folder}/{name}", MAX_SEGMENT_BYTES) or b"")

    @contextmanager
    def _name_file_in_faults(self, name: str) -> Iterator[None]:
        """A block in which faults of records are raised as damage of the file `name`."""
        try:
            yield
        except (CorruptRecord, InvalidRecord, MalformedFrame) as fault:
            raise self._make_damage(name, fault) from fault

    def _make_damage(self, name: str, fault: object) -> DamagedMetadata:
        path = name if name == self._folder else f"{self._folder}/{name}"
        return DamagedMetadata(
            f"{path} cannot be read: {fault}. Put a good copy of {self._folder} in its place. Without one, move that "
            "folder away: topics and partitions are then built from the log directories, but topic configs, dynamic "
            "broker configs, users, quotas and access rules are lost"
        )


def _batches(data: memoryview) -> Iterator[RecordBatch]:
    """Yields the valid batches up to the first that is not."""
    position = 0
    while (batch := _batch_at(data, position)) is not None:
        yield batch
        position += batch.size_bytes


def _batch_at(data: memoryview, position: int) -> RecordBatch | None:
    """The valid batch at that position, or None."""
    if len(data) - position < RECORD_BATCH_OVERHEAD or data[position + MAGIC_OFFSET] != MAGIC_V2:
        return None
    size = LOG_OVERHEAD + int.from_bytes(data[position + _SIZE_AT : position + LOG_OVERHEAD], "big", signed=True)
    if not RECORD_BATCH_OVERHEAD <= size <= len(data) - position:
        return None
    batch = RecordBatch(data[position : position + size])
    try:
        batch.ensure_valid()
    except CorruptRecord:
        return None
    return batch


def _has_batch(data: memoryview, position: int) -> bool:
    """Whether a valid batch begins after that position."""
    return any(_batch_at(data, match.start()) is not None for match in _HEAD.finditer(data, position + 1))
