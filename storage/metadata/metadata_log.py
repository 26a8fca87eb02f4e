"""The log `__cluster_metadata-0` and its snapshots, written as the only voter of a KRaft quorum writes them.

The first change of a process begins a new epoch, above those in the log and in `quorum-state`, with a LeaderChange. A
change is one write and one sync: one batch, or several inside a metadata transaction (KIP-868) if it is large. It is
acknowledged after the sync, so a torn tail was never acknowledged; the next write cuts it off. When the log has grown
by `snapshot_bytes`, a snapshot replaces the log before it. A worker may write it while changes continue: their segment
stays, and the next change begins another one. With kraft.version 1 the log names the voters (KIP-853); if these include
other nodes, a list of this node alone is added.

All files are readable by their owner only, since they hold the keys of passwords. Source: Kafka 3.9 `KafkaRaftClient`,
`KafkaMetadataLog`, `RecordsSnapshotWriter`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import UUID

from ...protocol.errors import DiskFault
from ...protocol.metadata_log import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    PartitionRecord,
    encode_metadata_record,
)
from ...protocol.plural import plural
from ...protocol.quorum_records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
    encode_control_record,
)
from ...protocol.records.builder import build_plain_batch
from ...protocol.schema import NO_UUID
from ..files.clock import Clock
from ..files.file_names import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, segment_file_path
from ..files.files import Files
from ..log.leader_epochs import LeaderEpochs
from .metadata_log_contents import MetadataLogContents, read_metadata_log
from .partition_record import next_epoch
from .quorum_state import QuorumState, read_quorum_state, write_quorum_state
from .state_difference import partition_record_version

RECORDS_A_BATCH = 500
FIRST_WITH_TRANSACTIONS = 13  # metadata.version 3.6-IV1
DEFAULT_SNAPSHOT_BYTES = 20_971_520
TRANSACTION_NAME = "stepdown"

_OF_SEGMENT = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalVoter:
    """The id of this node, and of the log directory that has the metadata log."""

    node_id: int
    directory_id: UUID = NO_UUID


class MetadataLog:
    """Appends to the log in `folder`. `end_offset`, `epoch`: those of the next record. Records below `synced_offset`
    are on the disk."""

    def __init__(self, files: Files, folder: str, clock: Clock, voter: LocalVoter) -> None:
        """Reads the log; nothing is written. Raises: DamagedMetadata, DiskFault."""
        self.folder = folder
        self.snapshot_bytes = DEFAULT_SNAPSHOT_BYTES
        self._files = files
        self._clock = clock
        self._voter = voter
        contents = read_metadata_log(files, folder)
        quorum = read_quorum_state(files, folder)
        self.contents = contents
        self.end_offset = self.synced_offset = contents.end_offset
        self.epoch = next_epoch(max(contents.epoch, quorum.leader_epoch))
        self.bytes_since_snapshot = contents.bytes_since_snapshot
        self._leads = False
        self._is_quorum_state_stored = False
        self._storing = Lock()
        self._writing = Lock()  # guards the attributes of the segment, below
        self._snapshotting = Lock()
        self._snapshot_end = contents.snapshot_end
        self._segment = f"{folder}/{contents.segment}" if contents.segment else ""
        self._size = contents.segment_bytes
        self._has_tail = contents.torn_bytes > 0
        self._is_named = True  # the name of the segment is on the disk
        self._is_in_snapshot = False  # a snapshot covers the beginning of the segment
        self._voters = contents.voters
        if contents.torn_bytes:
            _logger.warning(
                "%s: the last %d bytes at position %d are no whole batch and are cut off: they were being written when "
                "the broker stopped, or the file was damaged since, and then what they said is lost",
                self._segment, contents.torn_bytes, self._size)  # fmt: skip
        self._warn_of_other_voters(contents, quorum)

    @property
    def last_offset(self) -> int:
        """The offset of the last record, -1 for none."""
        return self.end_offset - 1

    def _warn_of_other_voters(self, contents: MetadataLogContents, quorum: QuorumState) -> None:
        ids = {voter.voter_id for voter in contents.voters} if contents.voters is not None else set(quorum.voters)
        if ids - {self._voter.node_id}:
            _logger.warning(
                "%s is the metadata of a quorum of the nodes %s: node %d goes on with it as a cluster of its own. "
                "Do not start it beside the others again",
                self.folder,
                sorted(ids),
                self._voter.node_id,
            )

    def make_private(self) -> None:
        """Makes the files in the folder readable by their owner only. Raises: DiskFault."""
        names = [name for name in self._files.names(self.folder) if name.endswith((LOG, ".checkpoint"))]
        public = [name for name in names if self._files.make_private(f"{self.folder}/{name}")]
        if public:
            _logger.warning("%s of %s could be read by others, passwords too: now by their owner only",
                            plural(len(public), "file"), self.folder)  # fmt: skip

    # Changes

    def append(self, records: Sequence[Any], metadata_version: int, *, sync: bool = True) -> None:
        """Writes the records of one change, all or none; a record may be an encoded value.

        They are on the disk when this returns; without `sync`, once the function of `prepare_sync` has returned or a
        later change has been synced.

        Raises: DiskFault, after which none of them counts.
        """
        with self._writing:
            self._append(records, metadata_version, sync=sync)

    def _append(self, records: Sequence[Any], metadata_version: int, *, sync: bool) -> None:
        now_ms = self._clock.now_ms()
        offset = self.end_offset
        batches: list[bytes] = []
        if not self._leads:
            self._prepare_folder()
            offset = self._add_batch(batches, offset, self._leader_change_records(), now_ms)
            offset = self._add_batch(batches, offset, self._sole_voter_records(), now_ms)
            if self.contents.is_in_transaction:
                abort = [encode_metadata_record(AbortTransactionRecord(reason="the writer stopped"))]
                offset = self._add_batch(batches, offset, abort, now_ms)
        if sync:
            self._store_quorum_state()
        for values in _encode_batches(records, metadata_version):
            offset = self._add_batch(batches, offset, values, now_ms)
        self._write(b"".join(batches), sync=sync)
        if not self._leads:
            self._become_leader()
        self.end_offset = offset
        if sync:
            self.synced_offset = offset

    def _prepare_folder(self) -> None:
        self._files.make_directory(self.folder)
        for name in self.contents.superseded:
            self._files.remove(f"{self.folder}/{name}")

    def _store_quorum_state(self) -> None:
        """Writes `quorum-state`, once. Until then only the log has the epoch; Kafka finds it there too."""
        with self._storing:
            if not self._is_quorum_state_stored:
                node_id, version = self._voter.node_id, self.contents.kraft_version
                write_quorum_state(
                    self._files, self.folder, node_id=node_id, leader_epoch=self.epoch, kraft_version=version
                )
                self._is_quorum_state_stored = True

    def _become_leader(self) -> None:
        self._leads = True
        if self.contents.kraft_version > 0 and self._voters:
            self._voters = self._voter_records()
        with suppress(DiskFault):  # Kafka reads the epochs from the batches where the file lacks them
            LeaderEpochs(self._files, self.folder).assign(self.epoch, self.end_offset)

    def _leader_change_records(self) -> list[tuple[bytes, bytes]]:
        voters = [LeaderVoter(voter_id=self._voter.node_id, voter_directory_id=self._voter.directory_id)]
        version = min(self.contents.kraft_version, 1)
        message = LeaderChangeMessage(
            version=version, leader_id=self._voter.node_id, voters=voters, granting_voters=voters
        )
        return [encode_control_record(message)]

    def _sole_voter_records(self) -> list[tuple[bytes, bytes]]:
        """The record that removes other voters from the list; none if there are no others."""
        if self.contents.kraft_version == 0 or not self._voters:
            return []
        own = self._voter_records()
        return [encode_control_record(VotersRecord(voters=own))] if own != self._voters else []

    def _voter_records(self) -> tuple[Voter, ...]:
        """This node as the only voter, with its endpoints from the log."""
        known = self._voters or (Voter(),)
        own = next((each for each in known if each.voter_id == self._voter.node_id), known[0])
        return (
            Voter(
                voter_id=self._voter.node_id,
                voter_directory_id=self._voter.directory_id,
                endpoints=own.endpoints,
                kraft_version_feature=own.kraft_version_feature,
            ),
        )

    def _add_batch(self, batches: list[bytes], offset: int, values: Sequence[Any], now_ms: int) -> int:
        """Adds a batch of these values: bytes, or key and value of control records. Returns the offset after them."""
        if not values:
            return offset
        batches.append(_build_batch(offset, self.epoch, values, now_ms))
        return offset + len(values)

    def prepare_sync(self) -> Callable[[], None]:
        """Returns a function, for a worker thread, that syncs all that was written. Both raise DiskFault."""
        with self._writing:
            if not self._segment:  # a snapshot replaced it, and that is on the disk
                return lambda: None
            files, handle = self._files, self._files.handle(self._segment)
            held = [handle.open()]  # a snapshot may remove the segment meanwhile
            end_offset = self.end_offset

        def sync() -> None:
            try:
                self._store_quorum_state()
                handle.sync()
                files.sync_directory(self.folder)
                with self._writing:
                    self.synced_offset = max(self.synced_offset, end_offset)
            finally:
                held.clear()
                handle.close()

        return sync

    def _write(self, data: bytes, *, sync: bool) -> None:
        if self._is_in_snapshot and not self._has_tail and self.synced_offset == self.end_offset:
            self._size = 0
        if self._size == 0:
            self._is_in_snapshot = False
            self._is_named = False
            self._segment = segment_file_path(self.folder, self.end_offset, LOG)
            self._files.make_private(self._segment)
        handle = self._files.handle(self._segment)
        try:
            if self._has_tail:
                handle.truncate(self._size)
            self._has_tail = True
            handle.write([data], self._size)
            if sync:
                handle.sync()
                if not self._is_named:
                    self._files.sync_directory(self.folder)
                self._is_named = True
            self._has_tail = False
        finally:
            handle.close()
        self._size += len(data)
        self.bytes_since_snapshot += len(data)

    # Snapshots

    def write_snapshot(self, records: Iterable[Any], metadata_version: int) -> None:
        """Writes a snapshot of these records, the whole state, and removes the log before it. Raises: DiskFault."""
        self.prepare_snapshot(records, metadata_version)()

    def prepare_snapshot(self, records: Iterable[Any], metadata_version: int) -> Callable[[], None]:
        """Returns a function, for a worker thread, that does what `write_snapshot` does; changes may be appended
        meanwhile. It raises DiskFault."""
        end_offset, size = self.end_offset, self.bytes_since_snapshot
        epoch = self.epoch if self._leads else self.contents.epoch
        voters: list[Any] = []
        if self._voters is not None:
            voters = [KRaftVersionRecord(kraft_version=self.contents.kraft_version), VotersRecord(voters=self._voters)]
        name, now_ms = snapshot_name(end_offset, epoch), self._clock.now_ms()

        def write() -> None:
            with self._snapshotting:
                if self._snapshot_end > end_offset:  # a later one was written before
                    return
                data = encode_snapshot(records, metadata_version, epoch=epoch, now_ms=now_ms, voters=voters)
                self._files.replace(f"{self.folder}/{name}", data, private=True)
                self._snapshot_end = end_offset
                with self._writing:
                    first = self._first_needed_base(end_offset)
                    self._leave_segment(end_offset, size)
                self._remove_superseded_files(name, first)

        return write

    def _first_needed_base(self, end_offset: int) -> str:
        """The base offset, as 20 digits, of the segment that has the record at `end_offset`, or will have it."""
        at_end = f"{end_offset:020d}"
        if self.end_offset == end_offset:
            return at_end
        bases = [name[:20] for name in self._files.names(self.folder) if name.endswith(LOG)]
        return max((base for base in bases if base <= at_end), default=at_end)

    def _leave_segment(self, end_offset: int, size: int) -> None:
        """Notes that a snapshot covers all records below `end_offset`, of which the log has the last `size` bytes."""
        self.bytes_since_snapshot = max(0, self.bytes_since_snapshot - size)
        self.synced_offset = max(self.synced_offset, end_offset)
        if self.end_offset == end_offset:
            self._segment, self._size, self._has_tail = "", 0, False
        else:
            self._is_in_snapshot = self._segment < segment_file_path(self.folder, end_offset, LOG)

    def _remove_superseded_files(self, snapshot: str, first: str) -> None:
        """Removes snapshots older than `snapshot`, and segments before `first`."""
        for name in sorted(self._files.names(self.folder)):
            is_older = name.endswith(".checkpoint") and name < snapshot
            if is_older or (name.endswith(_OF_SEGMENT) and name[:20] < first):
                self._files.remove(f"{self.folder}/{name}")


def snapshot_name(end_offset: int, epoch: int) -> str:
    """The file name of a snapshot of all records below that offset, in that epoch."""
    return f"{end_offset:020d}-{epoch:010d}.checkpoint"


def encode_snapshot(
    records: Iterable[Any], metadata_version: int, *, epoch: int, now_ms: int, voters: Sequence[Any] = ()
) -> bytes:
    """Encodes a snapshot with these records; `voters` are control records that name the voters."""
    head = [SnapshotHeaderRecord(last_contained_log_timestamp=now_ms)]
    chunks: list[Sequence[Any]] = [[encode_control_record(each) for each in chunk] for chunk in (head, voters) if chunk]
    chunks += _chunk_values(_encode_values(records, metadata_version))
    chunks.append([encode_control_record(SnapshotFooterRecord())])
    offset, batches = 0, []
    for values in chunks:
        batches.append(_build_batch(offset, epoch, values, now_ms))
        offset += len(values)
    return b"".join(batches)


def encode_value(record: Any, metadata_version: int) -> bytes:
    """Encodes the value of a record, in the version that belongs to this metadata.version."""
    is_partition = isinstance(record, PartitionRecord)
    return encode_metadata_record(record, partition_record_version(metadata_version) if is_partition else 0)


def _encode_values(records: Iterable[Any], metadata_version: int) -> Iterator[bytes]:
    for record in records:
        yield record if isinstance(record, bytes) else encode_value(record, metadata_version)


def _chunk_values(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    for value in values:
        chunk.append(value)
        if len(chunk) == RECORDS_A_BATCH:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _encode_batches(records: Sequence[Any], metadata_version: int) -> Iterator[list[bytes]]:
    """The values of each batch; several batches become one metadata transaction, if metadata.version allows it."""
    if len(records) > RECORDS_A_BATCH and metadata_version >= FIRST_WITH_TRANSACTIONS:
        records = [BeginTransactionRecord(name=TRANSACTION_NAME), *records, EndTransactionRecord()]
    return _chunk_values(_encode_values(records, metadata_version))


def _build_batch(offset: int, epoch: int, values: Sequence[Any], now_ms: int) -> bytes:
    is_control = isinstance(values[0], tuple)
    return build_plain_batch(
        values if is_control else [(None, value) for value in values],
        timestamp=now_ms,
        base_offset=offset,
        partition_leader_epoch=epoch,
        control=is_control,
    )
