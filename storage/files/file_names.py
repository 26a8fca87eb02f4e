"""The names of the files and folders of a log.

Source: Kafka 3.9 `LogFileUtils`, `LocalLog.parseTopicPartitionName`.

    <topic>-<partition>/                      a log
    <topic>-<partition>.<32 hex>-delete       renamed before deletion; also -future (move between disks) and -stray
    <20 digits>.log | .index | .timeindex | .txnindex | .snapshot
    <any of these>.deleted | .cleaned | .swap transient
"""

import re
from dataclasses import dataclass

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"

DELETE_DIRECTORY = "-delete"
FUTURE_DIRECTORY = "-future"
STRAY_DIRECTORY = "-stray"

# Folders in a log directory that are not logs of partitions: tiered storage's cache, KRaft's own log, and the folder
# that a file system has at its root (Kafka refuses to start if that is there).
METADATA_FOLDER = "__cluster_metadata-0"
SKIPPED_DIRECTORIES = frozenset({"remote-log-index-cache", METADATA_FOLDER, "lost+found"})

MAX_OFFSET = 2**63 - 1
MAX_PARTITION = 2**31 - 1

MAX_TOPIC_LENGTH = 249
_LEGAL_TOPIC = re.compile(r"[a-zA-Z0-9._-]+")
_MAX_NAME = 255
_OFFSET_DIGITS = 20
_PARTITION_DIGITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFolderName:
    """The parsed name of a log's folder; `suffix` is "", "-delete", "-future" or "-stray"."""

    topic: str
    partition: int
    suffix: str


def fault_of_topic_name(name: str) -> str | None:
    """Why the name of a topic is not allowed (Kafka 3.9 `Topic`), or None."""
    if not name:
        return "a topic name may not be empty"
    if name in (".", ".."):
        return f"a topic may not be called {name!r}"
    if len(name) > MAX_TOPIC_LENGTH:
        return f"a topic name has at most {MAX_TOPIC_LENGTH} characters, this one has {len(name)}"
    if not _LEGAL_TOPIC.fullmatch(name):
        return f"topic name {name!r} has other characters than ASCII letters and digits, '.', '_' and '-'"
    return None


def is_plain_name(name: str) -> bool:
    """Whether `name` can only be an entry of a folder: no path, no `..`."""
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def segment_file_path(directory: str, base_offset: int, suffix: str) -> str:
    """The path of one file of the segment that starts at `base_offset`."""
    return f"{directory}/{base_offset:020d}{suffix}"


def offset_of_file_name(file_name: str) -> int | None:
    """The offset a file is named after, or None when it is not named after one."""
    digits = file_name[:_OFFSET_DIGITS]
    if len(digits) == _OFFSET_DIGITS and digits.isascii() and digits.isdigit() and file_name[20:21] == ".":
        offset = int(digits)
        return offset if offset <= MAX_OFFSET else None
    return None


def log_dir_name(topic: str, partition: int) -> str:
    """The name of the folder of a partition's log."""
    return f"{topic}-{partition}"


def log_delete_dir_name(topic: str, partition: int, unique: str) -> str:
    """The name of a log's folder after its topic was deleted; `unique` is 32 hexadecimal digits."""
    ending = f"-{partition}.{unique}{DELETE_DIRECTORY}"
    return topic[: _MAX_NAME - len(ending)] + ending


def log_stray_dir_name(topic: str, partition: int, unique: str) -> str:
    """The name of a log's folder that the metadata do not know; `unique` is 32 hexadecimal digits."""
    ending = f"-{partition}.{unique}{STRAY_DIRECTORY}"
    return topic[: _MAX_NAME - len(ending)] + ending


def log_future_dir_name(topic: str, partition: int, unique: str) -> str:
    """The name of a log's copy while it is moved to another disk; `unique` is 32 hexadecimal digits.

    It is never shortened, so a topic's name may be too long for it: see `fits_future_directory`.
    """
    return f"{topic}-{partition}.{unique}{FUTURE_DIRECTORY}"


def fits_future_directory(topic: str, partition: int) -> bool:
    """Whether a log of this name can be moved."""
    return len(log_future_dir_name(topic, partition, "0" * 32)) <= _MAX_NAME


def parse_log_folder_name(name: str) -> LogFolderName | None:
    """Parses the name of a log's folder; None when `name` is not one."""
    suffix = next((end for end in (DELETE_DIRECTORY, FUTURE_DIRECTORY, STRAY_DIRECTORY) if name.endswith(end)), "")
    if suffix:
        stem, dot, _ = name.rpartition(".")
        if not dot:
            return None
        name = stem
    topic, dash, partition = name.rpartition("-")
    if not topic or not dash or not (partition.isascii() and partition.isdigit()):
        return None
    if len(partition) > _PARTITION_DIGITS or int(partition) > MAX_PARTITION:
        return None
    return LogFolderName(topic=topic, partition=int(partition), suffix=suffix)
