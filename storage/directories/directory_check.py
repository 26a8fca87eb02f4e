"""Checks that a folder is a log directory, and not something else that was named by mistake; nothing is written.

| found in the folder | result |
|---|---|
| segment files or `partition.metadata` of a partition | refused; its log directory was probably meant |
| ZooKeeper's `version-2`, or the files of it | refused |
| a folder that is itself a log directory, no `meta.properties` beside it | refused; that folder was probably meant |
| a folder whose name is not that of a partition | refused |
| other files only, no `meta.properties` | a warning |

Kafka 3.9 with ZooKeeper refuses only the fourth row; with KRaft it refuses every directory that
`kafka-storage.sh format` has not prepared. If `meta.properties` is there, a broker has used the directory, and files of
a partition in it only cause a warning.
"""

import logging
import re
from collections.abc import Iterable, Sequence

from ...protocol.errors import DiskFault
from ..files.file_names import (
    LOG,
    METADATA_FOLDER,
    OFFSET_INDEX,
    SKIPPED_DIRECTORIES,
    TIME_INDEX,
    offset_of_file_name,
    parse_log_folder_name,
)
from ..files.files import Files
from ..files.partition_metadata import FILE_NAME as PARTITION_METADATA
from .meta_properties import FILE_NAME as META_PROPERTIES

NAMES_SHOWN = 3
_SEGMENT_ENDS = (LOG, OFFSET_INDEX, TIME_INDEX)
_ZOOKEEPER_FOLDER = "version-2"
_ZOOKEEPER_FILE = re.compile(r"(log|snapshot)\.[0-9a-f]+")
_OWN_FILE = re.compile(r"\..*|.*[-.]checkpoint|.*\.tmp|stepdown-.*")
_OF_CLUSTER = re.compile(r"broker-[0-9]+")
_CHECKPOINT = "-checkpoint"

_logger = logging.getLogger(__name__)


class NotALogDirectory(DiskFault):
    """The folder is not a log directory; the message says what it is instead."""


def check_is_log_directory(files: Files, path: str) -> None:
    """Checks the folder `path`, which is absolute and exists.

    Raises: NotALogDirectory; DiskFault when it cannot be read.
    """
    if not files.is_directory(path):
        raise DiskFault(f"{path}: a folder was expected, found a file")
    entries = files.entries(path)
    names = [entry.name for entry in entries if not entry.is_directory]
    folders = [entry.name for entry in entries if entry.is_directory and entry.name not in SKIPPED_DIRECTORIES]
    of_partition = sorted(filter(_is_partition_file, names), key=lambda name: not name.endswith(LOG))
    if META_PROPERTIES in names:
        if of_partition:
            _logger.warning("%s holds files of a partition that are not served: %s", path, _list_some(of_partition))
        return
    if of_partition:
        raise NotALogDirectory(_explain_partition_folder(path, of_partition[0]))
    _refuse_zookeeper(files, path, names, folders)
    _refuse_folders(files, path, folders)


def check_cluster_directory(files: Files, path: str) -> None:
    """Checks the folder of a cluster in one process, which has a log directory `broker-N` for each broker.

    Raises: NotALogDirectory.
    """
    names = files.names(path)
    if META_PROPERTIES in names:
        raise NotALogDirectory(
            f"{path} is the log directory of one broker, not the folder of a cluster: serve it without --brokers, or "
            "name another folder"
        )
    of_partition = sorted(filter(_is_partition_file, names))
    if of_partition:
        raise NotALogDirectory(_explain_partition_folder(path, of_partition[-1]))
    _refuse_zookeeper(files, path, names, sorted(names))


def warn_of_foreign_files(files: Files, path: str) -> None:
    """Logs a warning if no broker has used the folder yet and it has files of other programs."""
    if files.exists(f"{path}/{META_PROPERTIES}") or has_broker_files(files, path):
        return
    entries = files.entries(path)
    foreign = [entry.name for entry in entries if not entry.is_directory and not _OWN_FILE.fullmatch(entry.name)]
    if foreign:
        _logger.warning("%s becomes a log directory, and has files that no broker wrote: %s", path, _list_some(foreign))


def has_broker_files(files: Files, path: str) -> bool:
    """Whether a broker has used the folder: it has `meta.properties`, the metadata log or folders of partitions."""
    return any(
        entry.name in (META_PROPERTIES, METADATA_FOLDER) or (entry.is_directory and parse_log_folder_name(entry.name))
        for entry in files.entries(path)
    )


def _is_partition_file(name: str) -> bool:
    return name == PARTITION_METADATA or (name.endswith(_SEGMENT_ENDS) and offset_of_file_name(name) is not None)


def _explain_partition_folder(path: str, file: str) -> str:
    parent, _, folder = path.rpartition("/")
    start = f"{path} is the folder of a partition, not a log directory: it has {file}"
    if folder == METADATA_FOLDER or parse_log_folder_name(folder) is not None:
        return f"{start}. The log directory is the folder above it: {parent or '/'}"
    return f"{start}. Give it a name such as topic-0, and name the folder above it: {parent or '/'}"


def _refuse_zookeeper(files: Files, path: str, names: Iterable[str], folders: Sequence[str]) -> None:
    inner = files.names(f"{path}/{_ZOOKEEPER_FOLDER}") if _ZOOKEEPER_FOLDER in folders else ()
    found = sorted(name for name in (*names, *inner) if _ZOOKEEPER_FILE.fullmatch(name))
    if found:
        raise NotALogDirectory(
            f"{path} has files of ZooKeeper ({_list_some(found)}), it is no log directory. Name those of log.dirs in "
            "the broker's server.properties; ZooKeeper's go with --zookeeper-data of `stepdown topics adopt` and "
            "`stepdown migrate plan`"
        )


def _refuse_folders(files: Files, path: str, folders: Sequence[str]) -> None:
    inner = [name for name in folders if files.exists(f"{path}/{name}/{META_PROPERTIES}")]
    if inner:
        meant = " or ".join(f"{path}/{name}" for name in inner[:NAMES_SHOWN])
        brokers = sum(bool(_OF_CLUSTER.fullmatch(name)) for name in inner)
        more = f". Where it is the folder of a cluster, pass --brokers {brokers}" if brokers > 1 else ""
        raise NotALogDirectory(f"{path} is no log directory, {meant} in it was probably meant{more}")
    foreign = [name for name in folders if parse_log_folder_name(name) is None and not name.endswith(_CHECKPOINT)]
    if foreign:
        raise NotALogDirectory(
            f"{path} is no log directory: it has folders that are not those of partitions ({_list_some(foreign)}), "
            "whose names are like topic-0. Name an empty or a new folder, or move these out of it"
        )


def _list_some(names: Sequence[str]) -> str:
    return ", ".join([*names[:NAMES_SHOWN], *(["…"] if len(names) > NAMES_SHOWN else [])])
