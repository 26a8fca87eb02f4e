"""Surveys the log directories of one stopped broker for a plan; nothing is written.

A directory has not changed since the plan was made if its fingerprint is the same: the names, sizes and times of all
files except those that a plan writes. Directories that are locked, of another broker or of KRaft are refused.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from ...protocol.errors import DiskFault
from ..directories.directory_check import check_is_log_directory
from ..directories.log_directory import CLEAN_MARK, LOCK, log_folders
from ..directories.meta_properties import FILE_NAME as META_PROPERTIES
from ..directories.meta_properties import MetaProperties, read_meta_properties
from ..files.file_names import DELETE_DIRECTORY, log_stray_dir_name
from ..files.files import Files
from ..files.partition_metadata import FILE_NAME as PARTITION_METADATA
from ..metadata.metadata_log_contents import FOLDER as METADATA_FOLDER
from ..metadata.metadata_store import DOCUMENT
from .folder_survey import FolderSurvey, survey_folder

JOURNAL = "stepdown-migration.json"
MOST_META_BYTES = 1 << 16
_TEMPORARY = ".tmp"
_WRITTEN_BY_PLANS = frozenset({LOCK, JOURNAL, META_PROPERTIES, METADATA_FOLDER})


class RefusedDirectory(DiskFault):
    """The directory cannot be planned or changed; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDirectory:
    """A log directory: its new id, and its fingerprint when the plan was made."""

    path: str
    directory_id: UUID
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedBroker:
    """A broker: its directories in the order of `log.dirs`, its replicas, and its addresses.

    `set_aside`: folders that the plan renames to `-stray`, so that Kafka fetches these replicas again.
    """

    broker_id: int
    directories: tuple[PlannedDirectory, ...]
    folders: tuple[FolderSurvey, ...] = ()
    last_producer_id: int = -1
    host: str = "localhost"
    port: int = 9092
    controller_port: int = 9093
    set_aside: tuple[str, ...] = ()
    deleted_folders: int = 0
    cluster_id: str | None = field(default=None, compare=False)


def survey_broker(files: Files, broker_id: int, paths: Sequence[str]) -> PlannedBroker:
    """Surveys the directories of a broker. Raises: RefusedDirectory, DiskFault."""
    metas = [_check_directory(files, broker_id, path) for path in paths]
    cluster_ids = {meta.cluster_id for meta in metas if meta.cluster_id is not None}
    if len(cluster_ids) > 1:
        raise RefusedDirectory(f"the directories of broker {broker_id} are of the clusters {sorted(cluster_ids)}")
    folders = [each for disk, path in enumerate(paths) for each in _survey_folders(files, path, disk)]
    names = [name for path in paths for name in files.names(path)]
    return PlannedBroker(
        broker_id=broker_id,
        directories=tuple(
            PlannedDirectory(path=path, directory_id=uuid4(), fingerprint=fingerprint(files, path)) for path in paths
        ),
        folders=tuple(folders),
        last_producer_id=max((each.last_producer_id for each in folders), default=-1),
        deleted_folders=sum(name.endswith(DELETE_DIRECTORY) for name in names),
        cluster_id=next(iter(cluster_ids), None),
    )


def _check_directory(files: Files, broker_id: int, path: str) -> MetaProperties:
    if not files.is_directory(path):
        raise RefusedDirectory(f"{path}: there is no such directory; is the disk of broker {broker_id} mounted?")
    if files.exists(f"{path}/{JOURNAL}"):
        raise RefusedDirectory(f"{path} was migrated by a plan already: undo that plan first")
    meta = read_meta_properties(files, path)
    if meta is None:
        check_is_log_directory(files, files.absolute(path))
        raise RefusedDirectory(f"{path} has no {META_PROPERTIES}: no broker has used it as a log directory")
    has_metadata = any(files.exists(f"{path}/{name}") for name in (METADATA_FOLDER, DOCUMENT))
    if meta.version != 0 or has_metadata:
        raise RefusedDirectory(
            f"{path} has no need of a migration, it is KRaft's already ({META_PROPERTIES} has version {meta.version}); "
            "`stepdown metadata prepare` is for directories that stepdown has served"
        )
    if meta.node_id != broker_id:
        raise RefusedDirectory(f"{path} is of broker {meta.node_id}, and was named as one of broker {broker_id}")
    return meta


def _survey_folders(files: Files, path: str, disk: int) -> Iterator[FolderSurvey]:
    was_clean = files.exists(f"{path}/{CLEAN_MARK}")
    for folder, name in log_folders(files, path):
        if not name.suffix:
            yield survey_folder(files, folder, name.topic, name.partition, disk, was_clean=was_clean)


def fingerprint(files: Files, path: str, renamed: Mapping[str, str] | None = None) -> str:
    """A hash that changes when files of the directory change; `renamed` maps new names of folders to the old ones."""
    digest = hashlib.sha256()
    for line in sorted(_entry_lines(files, path, renamed or {})):
        digest.update(line.encode())
    return digest.hexdigest()


def _entry_lines(files: Files, path: str, renamed: Mapping[str, str]) -> Iterator[str]:
    for entry in files.entries(path):
        name = renamed.get(entry.name, entry.name)
        if entry.name in _WRITTEN_BY_PLANS or entry.name.endswith(_TEMPORARY):
            continue
        if not entry.is_directory:
            yield f"{name} {entry.size_bytes} {files.mtime_ms(f'{path}/{entry.name}')}\n"
            continue
        yield f"{name}/\n"
        for inner in files.entries(f"{path}/{entry.name}"):
            if not inner.name.startswith(PARTITION_METADATA):
                time_ms = files.mtime_ms(f"{path}/{entry.name}/{inner.name}")
                yield f"{name}/{inner.name} {inner.size_bytes} {time_ms}\n"


def stray_name_of(directory: PlannedDirectory, folder: str) -> str:
    """The `-stray` name of a folder that is set aside; it is the same at each call."""
    topic, _, partition = folder.rpartition("-")
    return log_stray_dir_name(topic, int(partition), directory.directory_id.hex)


@contextmanager
def hold_locks(files: Files, paths: Sequence[str], *, only_existing: bool = False) -> Iterator[None]:
    """Holds the locks of the directories during the block, so that no broker opens them meanwhile.

    Lock files that it creates are removed afterwards. With `only_existing` it creates none: no broker runs on a
    directory without a lock file. Raises: RefusedDirectory.
    """
    with ExitStack() as held:
        for path in paths:
            name = f"{path}/{LOCK}"
            is_missing = not files.exists(name)
            if only_existing and is_missing:
                continue
            lock = files.lock(name)
            if lock is None:
                raise RefusedDirectory(f"{path} is in use by a broker (its {LOCK} is held): stop it first")
            held.callback(lock.release)
            if is_missing:
                held.callback(files.remove, name)
        yield
