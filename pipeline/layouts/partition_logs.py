"""The logs at a place, whatever its layout, and those of a log directory joined with its tiered storage.

| found at the place | layout |
|---|---|
| `topic-0-<topic id>/00...-<segment id>.log` | Kafka's LocalTieredStorage |
| `topic-<topic id>/0/00...-<segment id>.rsm-manifest` | Aiven's RemoteStorageManager |
| `topic-0/00....log`, or nothing of the above | a log directory |
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...protocol.errors import DiskFault
from ...storage.files.checkpoint_file import LOG_STARTS, MalformedCheckpoint, TopicPartition
from ...storage.files.files import DirectoryEntry
from ...storage.files.partition_metadata import encode_uuid, read_topic_id
from ...storage.log.leader_epochs import FILE_NAME as LEADER_EPOCHS
from ...storage.log.leader_epochs import EpochEntry
from ..failures import BadUsage
from ..places.place_files import PlaceFiles
from ..reading.partition_segments import PartitionSegments
from . import aiven_tiered_storage, local_tiered_storage
from .checkpointed_offsets import read_checkpoint
from .log_directory import read_logs_of_directories
from .tiered_log import make_tiered_log
from .tiered_segment import TieredPartition, parse_epochs

INTERNAL_PREFIX = "__"
_MAX_EPOCHS_BYTES = 1 << 20
_Wanted = Callable[[str], bool]


def find_partition_logs(
    files: PlaceFiles,
    path: str,
    topics: Sequence[str] | None = None,
    *,
    beside: Sequence[str] = (),
    pattern: re.Pattern[str] | None = None,
    tiered_path: str | None = None,
    all_there: bool = True,
) -> list[PartitionSegments]:
    """The logs at `path`, by topic and partition; all but internal topics unless `topics` names some. Of those, the
    topics that `pattern` matches as a whole.

    `beside` are the other log directories of the same broker, `tiered_path` is where its tiered storage lies.

    Raises: BadUsage where there is no such place or, with `all_there`, no log or not all topics; PipelineFailure for a
    partition that is there twice; DiskFault.
    """
    directories = _list_directories(files, (path, *beside))

    def is_wanted(topic: str) -> bool:
        if topics is not None:
            return topic in topics
        return not topic.startswith(INTERNAL_PREFIX) and (pattern is None or pattern.fullmatch(topic) is not None)

    tiered = _find_lone_storage(files, directories, tiered_path, is_wanted)
    logs = (
        _make_logs_of_tiered_only(files, tiered) if tiered else read_logs_of_directories(files, directories, is_wanted)
    )
    if tiered_path is not None:
        logs = _join_with_tiered_storage(
            files, directories, logs, _find_tiered_partitions(files, tiered_path, is_wanted)
        )
    path = ", ".join(directories)
    missing = sorted(set(topics or ()) - {log.topic for log in logs})
    if missing and all_there:
        raise BadUsage(f"{path}: no such topic: {', '.join(missing)}")
    if not logs and all_there:
        raise BadUsage(f"{path}: no logs here: a log directory has a folder a partition, such as orders-0")
    return sorted(logs, key=lambda log: (log.topic, log.partition))


def _list_directories(files: PlaceFiles, paths: Sequence[str]) -> dict[str, list[DirectoryEntry]]:
    """What is in each of the directories. Raises: BadUsage, also for one that is named twice; DiskFault."""
    found: dict[str, list[DirectoryEntry]] = {}
    names: dict[str, str] = {}
    for path in paths:
        entries = files.folder_entries(path)
        if entries is None:
            raise BadUsage(f"{path}: no such log directory")
        other = names.setdefault(files.absolute(path), path)
        if path in found or other != path:
            raise BadUsage(f"{path}: this log directory is named twice")
        found[path] = entries
    return found


def _find_lone_storage(
    files: PlaceFiles,
    directories: Mapping[str, Sequence[DirectoryEntry]],
    tiered_path: str | None,
    is_wanted: _Wanted,
) -> list[TieredPartition]:
    """What there is where the only place is tiered storage. Raises: BadUsage where such a place is not the only one."""
    for path, entries in directories.items():
        found = _partitions_of_storage(files, path, entries, is_wanted)
        if found and (tiered_path is not None or len(directories) > 1):
            raise BadUsage(
                f"{path} is tiered storage itself: name the log directories first, then their tiered storage"
            )
        if found:
            return found
    return []


def _find_tiered_partitions(files: PlaceFiles, path: str, is_wanted: _Wanted) -> list[TieredPartition]:
    """Raises: BadUsage where no tiered storage is."""
    entries = files.folder_entries(path)
    if entries is None:
        raise BadUsage(f"{path}: no such tiered storage")
    found = _partitions_of_storage(files, path, entries, is_wanted)
    if not found and entries and not _partitions_of_storage(files, path, entries, lambda _: True):
        raise BadUsage(f"{path}: no tiered storage of a layout that is known (LocalTieredStorage, Aiven's)")
    return found


def _partitions_of_storage(
    files: PlaceFiles, path: str, entries: Sequence[DirectoryEntry], is_wanted: _Wanted
) -> list[TieredPartition]:
    if local_tiered_storage.is_local_tiered_storage(entries):
        return local_tiered_storage.partitions_of_storage(files, path, entries, is_wanted)
    return aiven_tiered_storage.partitions_of_storage(files, path, entries, is_wanted)


def _make_logs_of_tiered_only(files: PlaceFiles, found: Sequence[TieredPartition]) -> list[PartitionSegments]:
    """Logs that only tiered storage has. Of a topic that was deleted and created again: of the newest topic id."""
    return [make_tiered_log(files, partition, None, (), None) for partition in _keep_newest_topic_ids(files, found)]


def _keep_newest_topic_ids(files: PlaceFiles, found: Sequence[TieredPartition]) -> list[TieredPartition]:
    """The partitions without those of an older topic of the same name, which was written to before."""
    ids: dict[str, set[str]] = {}
    for partition in found:
        ids.setdefault(partition.topic, set()).add(partition.topic_id)
    newest = {topic: next(iter(each)) for topic, each in ids.items() if len(each) == 1}
    for topic in ids.keys() - newest.keys():
        written = {
            partition.topic_id: files.mtime_ms(partition.segments[-1].file.path)
            for partition in found
            if partition.topic == topic and partition.segments
        }
        newest[topic] = max(written, key=lambda topic_id: written[topic_id])
    return [partition for partition in found if newest[partition.topic] == partition.topic_id]


def _join_with_tiered_storage(
    files: PlaceFiles, directories: Iterable[str], logs: Sequence[PartitionSegments], found: Sequence[TieredPartition]
) -> list[PartitionSegments]:
    """The broker's logs with what tiered storage has of them, by topic id; partitions that only it has as they are."""
    by_name: dict[tuple[str, int], list[TieredPartition]] = {}
    for partition in found:
        by_name.setdefault((partition.topic, partition.partition), []).append(partition)
    starts: dict[TopicPartition, int] = {}
    for path in directories:
        starts |= read_checkpoint(files, path, LOG_STARTS)
    joined = []
    for log in logs:
        topic_id = read_topic_id(files, log.directory)
        candidates = by_name.pop((log.topic, log.partition), [])
        same = [each for each in candidates if topic_id is None or each.topic_id == encode_uuid(topic_id)]
        if not same:
            joined.append(log)
            continue
        start = starts.get((log.topic, log.partition))
        joined.append(make_tiered_log(files, same[0], log, _read_leader_epochs(files, log.directory), start))
    return joined + _make_logs_of_tiered_only(files, [each for left in by_name.values() for each in left])


def _read_leader_epochs(files: PlaceFiles, directory: str) -> Sequence[EpochEntry]:
    """The leader epochs of a broker's log; none where the file is missing or cannot be read."""
    checkpoint = f"{directory}/{LEADER_EPOCHS}"
    try:
        return parse_epochs(files.read_whole(checkpoint, _MAX_EPOCHS_BYTES) or b"", checkpoint)
    except (MalformedCheckpoint, DiskFault):
        return ()
