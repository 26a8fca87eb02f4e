"""How the files and folders of a log are named.

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

# Folders of a log directory that hold no log of ours: tiered storage's cache, KRaft's own log, and what a file system
# has at its root (Kafka does not start there).
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
class LogDirectoryName:
    """What the name of a log's folder says; `suffix` is "", "-delete", "-future" or "-stray"."""

    topic: str
    partition: int
    suffix: str


def fault_of_topic_name(name: str) -> str | None:
    """What is wrong with the name of a topic (Kafka 3.9 `Topic`); None: nothing."""
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
    """Whether it names something in a folder, and nothing above it or elsewhere."""
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def segment_file(directory: str, base_offset: int, suffix: str) -> str:
    """The path of one file of the segment that starts at `base_offset`."""
    return f"{directory}/{base_offset:020d}{suffix}"


def offset_of(file_name: str) -> int | None:
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
    """The name a log's folder gets when its topic is deleted; `unique` is 32 hexadecimal digits."""
    ending = f"-{partition}.{unique}{DELETE_DIRECTORY}"
    return topic[: _MAX_NAME - len(ending)] + ending


def log_stray_dir_name(topic: str, partition: int, unique: str) -> str:
    """The name a log's folder gets when the metadata do not know it; `unique` is 32 hexadecimal digits."""
    ending = f"-{partition}.{unique}{STRAY_DIRECTORY}"
    return topic[: _MAX_NAME - len(ending)] + ending


def log_future_dir_name(topic: str, partition: int, unique: str) -> str:
    """The name of a log's copy while it is moved to another disk; `unique` is 32 hexadecimal digits.

    It is never cut, so the name of a topic may be too long for it: `fits_future_directory`.
    """
    return f"{topic}-{partition}.{unique}{FUTURE_DIRECTORY}"


def fits_future_directory(topic: str, partition: int) -> bool:
    """Whether a log of this name can be moved."""
    return len(log_future_dir_name(topic, partition, "0" * 32)) <= _MAX_NAME


def parse_log_directory(name: str) -> LogDirectoryName | None:
    """What the folder `name` holds, or None when it is not the name of a log's folder."""
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
    return LogDirectoryName(topic=topic, partition=int(partition), suffix=suffix)
