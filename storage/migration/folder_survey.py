"""Surveys the folder of a partition for a plan. It reads little: the first batch of each segment, and the last few."""

from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from ...protocol.errors import CorruptRecord
from ...protocol.records.batch_header import BatchHeader
from ..files.file_names import LOG, SNAPSHOT, offset_of_file_name
from ..files.files import Files
from ..files.partition_metadata import read_topic_id
from ..log.leader_epochs import LeaderEpochs
from ..log.segment import MAX_RELATIVE_OFFSET, Segment, open_segment
from ..producers.producer_snapshot import MAX_SNAPSHOT_BYTES, CorruptSnapshot, decode_snapshot
from ..producers.producer_states import highest_producer_id

NO_MAGIC = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSurvey:
    """A replica on the disk number `disk` of its broker.

    `leader_epoch`: the highest in the checkpoint and the last batches, -1 for none. `lowest_magic`: -1 without a batch.
    `end_offset`: the offset of the next record. `index_bytes`: the size of the larger index of the last segment.
    `recovered_bytes`: the size of the largest segment if Kafka has to rebuild indexes after an unclean stop, else 0.
    """

    topic: str
    partition: int
    disk: int = 0
    topic_id: UUID | None = None
    leader_epoch: int = -1
    end_offset: int = 0
    lowest_magic: int = NO_MAGIC
    last_producer_id: int = -1
    index_bytes: int = 0
    recovered_bytes: int = 0


@dataclass(slots=True)
class _BatchSummary:
    """A summary of the headers of some batches."""

    end_offset: int
    leader_epoch: int = -1
    lowest_magic: int = NO_MAGIC
    last_producer_id: int = -1
    index_bytes: int = 0
    most_bytes: int = 0

    def add(self, header: BatchHeader) -> None:
        self.end_offset = header.last_offset + 1
        self.leader_epoch = max(self.leader_epoch, header.leader_epoch)
        self.lowest_magic = header.magic if self.lowest_magic == NO_MAGIC else min(self.lowest_magic, header.magic)
        self.last_producer_id = highest_producer_id((self.last_producer_id, header.producer_id))


def survey_folder(
    files: Files, path: str, topic: str, partition: int, disk: int, *, was_clean: bool = True
) -> FolderSurvey:
    """Surveys one folder; `was_clean`: the broker was stopped cleanly. Raises: DiskFault."""
    names = files.names(path)
    bases = sorted(base for name in names if name.endswith(LOG) and (base := offset_of_file_name(name)) is not None)
    found = _BatchSummary(bases[-1] if bases else 0)
    for base in bases:
        _summarize_batches(files, path, base, found, is_last=base == bases[-1])
    return FolderSurvey(
        topic=topic,
        partition=partition,
        disk=disk,
        topic_id=read_topic_id(files, path),
        leader_epoch=max(LeaderEpochs(files, path).latest, found.leader_epoch),
        end_offset=found.end_offset,
        lowest_magic=found.lowest_magic,
        last_producer_id=max(found.last_producer_id, _last_producer_id(files, path, names)),
        index_bytes=found.index_bytes,
        recovered_bytes=0 if was_clean else found.most_bytes,
    )


def _summarize_batches(files: Files, path: str, base: int, found: _BatchSummary, *, is_last: bool) -> None:
    """Adds a segment's first batch to `found`, and for the last segment the batches from the last index entry on."""
    segment = open_segment(files, path, base)
    try:
        found.most_bytes = max(found.most_bytes, segment.size)
        if is_last:
            found.index_bytes = max(
                segment.offset_index.size_bytes_without_zeros(), segment.time_index.size_bytes_without_zeros()
            )
        for header in islice(segment.batches(0), 1):
            found.add(header)
        for header in segment.batches(_last_indexed_position(segment)) if is_last else ():
            found.add(header)
    except CorruptRecord:
        pass  # the rest was being written when the broker stopped
    finally:
        segment.close()


def _last_indexed_position(segment: Segment) -> int:
    if not segment.offset_index.looks_right(segment.size):
        return 0
    return segment.offset_index.position_of(MAX_RELATIVE_OFFSET)


def _last_producer_id(files: Files, path: str, names: set[str]) -> int:
    """The highest producer id in the newest producer snapshot that can be read, -1 for none."""
    for name in sorted((name for name in names if name.endswith(SNAPSHOT)), reverse=True):
        try:
            entries = decode_snapshot(files.read_whole(f"{path}/{name}", MAX_SNAPSHOT_BYTES) or b"", name)
        except CorruptSnapshot:
            continue
        return highest_producer_id(entry.producer_id for entry in entries)
    return -1
