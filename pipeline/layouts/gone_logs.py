"""Partitions of a log directory whose folders are gone, by what the broker noted of the logs that it had.

| what names the partition | what follows |
|---|---|
| recovery-point-offset-checkpoint | the log is gone: all logs are in it, those given up are taken out |
| replication-offset-checkpoint | the same where the other file is missing; else it may be an old topic |
| neither is there, and others of its topic lie here | a line: another broker or directory may have it |

A folder with the suffix of one that is deleted, moved or set aside says what became of the partition.
"""

from collections.abc import Callable, Collection, Mapping

from ...storage.files.checkpoint_file import (
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    MalformedCheckpoint,
    TopicPartition,
    read_offsets,
)
from ...storage.files.file_names import log_directory
from ..console_output import say_once
from ..places.place_files import PlaceFiles
from ..reading.partition_segments import PartitionSegments

NAMED = 5
"""How many missing partitions of a topic a line names."""


def gone_logs(
    files: PlaceFiles,
    path: str,
    flushed: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    folders: Collection[TopicPartition],
    wanted: Callable[[str], bool],
) -> list[PartitionSegments]:
    """The logs of wanted topics that had records and have no folder. `flushed` and `starts` are the recovery
    points and log start offsets that are noted.

    Raises: DiskFault.
    """
    marks = read_checkpoint(files, path, HIGH_WATERMARKS)
    ends = {key: max(end, marks.get(key, 0)) for key, end in flushed.items()} or marks
    if not ends:
        _tell_of_holes(path, folders)
    return [
        PartitionSegments(
            topic=key[0],
            partition=key[1],
            directory=f"{path}/{log_directory(*key)}",
            start_offset=starts.get(key, 0),
            segments=(),
            known_end=ends[key],
            named_by=RECOVERY_POINTS if flushed else HIGH_WATERMARKS,
        )
        for key in sorted(ends.keys() - set(folders))
        # A broker may have made the folder after the others were listed.
        if ends[key] > 0 and wanted(key[0]) and not files.is_directory(f"{path}/{log_directory(*key)}")
    ]


def read_checkpoint(files: PlaceFiles, path: str, name: str) -> dict[TopicPartition, int]:
    """The offsets of a checkpoint; as a broker does, one that cannot be read is taken for an empty one."""
    try:
        return dict(read_offsets(files, f"{path}/{name}"))
    except MalformedCheckpoint:
        return {}


def _tell_of_holes(path: str, folders: Collection[TopicPartition]) -> None:
    by_topic: dict[str, set[int]] = {}
    for topic, partition in folders:
        by_topic.setdefault(topic, set()).add(partition)
    for topic, there in sorted(by_topic.items()):
        count = max(there) + 1 - len(there)
        if count:
            first = (number for number in range(max(there)) if number not in there)
            names = ", ".join(f"{topic}-{number}" for number, _ in zip(first, range(NAMED), strict=False))
            more = f" and {count - NAMED} more" if count > NAMED else ""
            say_once(f"{path}: {names}{more} not here, only higher partitions; another broker may have them")
