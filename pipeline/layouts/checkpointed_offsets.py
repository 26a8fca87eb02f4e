"""What a broker has noted of the logs in a directory: where they start and how far they are known to have reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...storage.directories.log_directory import CLEAN_MARK
from ...storage.files.checkpoint_file import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    MalformedCheckpoint,
    TopicPartition,
    read_offsets,
)
from ...storage.files.files import DirectoryEntry
from ..places.place_files import PlaceFiles

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointedOffsets:
    """Log start offsets, recovery points and high watermarks; `is_clean`: written as the broker stopped."""

    starts: Offsets
    flushed: Offsets
    marks: Offsets
    is_clean: bool

    @classmethod
    def read(cls, files: PlaceFiles, path: str, entries: Sequence[DirectoryEntry]) -> "CheckpointedOffsets":
        """Reads the files of the directory `path`, which has these entries. Raises: DiskFault."""
        return cls(
            starts=read_checkpoint(files, path, LOG_STARTS),
            flushed=read_checkpoint(files, path, RECOVERY_POINTS),
            marks=read_checkpoint(files, path, HIGH_WATERMARKS),
            is_clean=any(entry.name == CLEAN_MARK for entry in entries),
        )

    @property
    def names_a_partition(self) -> bool:
        """Whether any partition is named."""
        return bool(self.flushed or self.marks)

    @property
    def file(self) -> str:
        """The file that tells which partitions there were; high watermarks beside it may be of topics of long ago."""
        return RECOVERY_POINTS if self.flushed else HIGH_WATERMARKS

    def end_offsets(self) -> dict[TopicPartition, int]:
        """The highest offset that is noted of each partition which `file` names."""
        return {key: max(end, self.marks.get(key, 0)) for key, end in (self.flushed or self.marks).items()}

    def is_in_all_checkpoints(self, key: TopicPartition) -> bool:
        """Whether recovery points and high watermarks name the partition, or those of the two that there are."""
        return all(key in offsets for offsets in (self.flushed, self.marks) if offsets)

    def least_log_end(self, key: TopicPartition, *, has_id: bool) -> int:
        """What the log has reached, 0 where nothing tells. `has_id`: a file beside it has the id of its topic.

        Kafka before 1.1, which knows no ids, does not take a recovery point away with its topic: for a minute it is
        noted of a topic that was created again. A clean stop writes all of them.
        """
        end = self.flushed.get(key, 0)
        return end if has_id or self.is_clean else min(end, self.marks.get(key, end))


def read_checkpoint(files: PlaceFiles, path: str, name: str) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint; as a broker does, one that cannot be read is taken for an empty one."""
    try:
        return dict(read_offsets(files, f"{path}/{name}"))
    except MalformedCheckpoint:
        return {}
