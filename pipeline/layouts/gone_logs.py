"""Partitions of a log directory whose folders are gone, by what the broker noted of the logs that it had.

| what names the partition | what follows |
|---|---|
| both checkpoints (recovery points, high watermarks), or the only one that there is | the log is gone |
| one of them, not the other | a line: the partition was deleted or moved before the broker died, or is lost |
| neither is there, and others of its topic lie here | a line: another broker or directory may have it |
| a checkpoint, but the directory has no partition at all | a line: before 2.8 Kafka left both files as they were |

A folder with the suffix of one that is deleted, moved or set aside says what became of the partition.

Kafka 1.1 and later take a partition out of `recovery-point-offset-checkpoint` as they delete it; earlier releases do so
within log.flush.offset.checkpoint.interval.ms, a minute. All of them take it out of `replication-offset-checkpoint`
within replica.high.watermark.checkpoint.interval.ms, five seconds. Source: `LogManager.asyncDelete`,
`ReplicaManager.checkpointHighWatermarks`.
"""

from collections.abc import Callable, Collection, Iterable
from itertools import islice

from ...storage.files.checkpoint_file import HIGH_WATERMARKS, RECOVERY_POINTS, TopicPartition
from ...storage.files.file_names import log_dir_name
from ..console_output import print_to_stderr_once
from ..places.place_files import PlaceFiles
from ..reading.partition_segments import PartitionSegments
from .checkpointed_offsets import CheckpointedOffsets

NAMED = 5
"""How many missing partitions a line names."""


def find_gone_logs(
    files: PlaceFiles,
    path: str,
    checkpoints: CheckpointedOffsets,
    folders: Collection[TopicPartition],
    wanted: Callable[[str], bool],
    *,
    is_empty: bool,
) -> list[PartitionSegments]:
    """The logs of wanted topics that the directory is noted to have had and that no folder has. `folders` are those of
    all directories of the broker; `is_empty`: this one has none.

    Raises: DiskFault.
    """
    ends = checkpoints.end_offsets()
    # A broker may have made the folder after the others were listed.
    missing = [
        key
        for key in sorted(ends.keys() - set(folders))
        if ends[key] > 0 and wanted(key[0]) and not files.is_directory(f"{path}/{log_dir_name(*key)}")
    ]
    if missing and is_empty:
        print_to_stderr_once(
            f"{path} has no partition, and {checkpoints.file} names {_list_names(missing)}: deleted, moved or lost"
        )
        return []
    sure = [key for key in missing if checkpoints.is_in_all_checkpoints(key)]
    _warn_of_partitions_in_one_checkpoint(path, [key for key in missing if not checkpoints.is_in_all_checkpoints(key)])
    return [
        PartitionSegments(
            topic=key[0],
            partition=key[1],
            directory=f"{path}/{log_dir_name(*key)}",
            start_offset=checkpoints.starts.get(key, 0),
            segments=(),
            known_end=ends[key],
            named_by=checkpoints.file,
        )
        for key in sure
    ]


def _warn_of_partitions_in_one_checkpoint(path: str, missing: Collection[TopicPartition]) -> None:
    """A line for partitions that one checkpoint names and the other does not."""
    if missing:
        what = f"{RECOVERY_POINTS} names it and {HIGH_WATERMARKS} does not"
        cause = "deleted or moved shortly before the broker died, or lost"
        print_to_stderr_once(f"{path}: {_list_names(missing)} not here; {what}: {cause}")


def _list_names(partitions: Collection[TopicPartition]) -> str:
    return _join_first_names(partitions, len(partitions))


def _join_first_names(partitions: Iterable[TopicPartition], count: int) -> str:
    names = ", ".join(f"{topic}-{number}" for topic, number in islice(partitions, NAMED))
    return names + (f" and {count - NAMED} more" if count > NAMED else "")


def warn_of_missing_partitions(where: str, folders: Iterable[TopicPartition]) -> None:
    """Print a line for each topic that has higher partition numbers here, but not all lower ones.

    Called only where no checkpoint says which partitions there were.
    """
    by_topic: dict[str, set[int]] = {}
    for topic, partition in folders:
        by_topic.setdefault(topic, set()).add(partition)
    for topic, there in sorted(by_topic.items()):
        count = max(there) + 1 - len(there)
        if count:
            missing = ((topic, number) for number in range(max(there)) if number not in there)
            names = _join_first_names(missing, count)
            print_to_stderr_once(f"{where}: {names} not here, only higher partitions; another broker may have them")
