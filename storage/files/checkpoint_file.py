"""Checkpoint files: text files with one entry a line, always replaced as a whole.

    0                  version
    2                  number of entries
    topic-a 0 1234     an entry; its fields depend on the file
    topic-b 11 7

Every line ends with a newline; an empty file has no entries. Source: Kafka 3.9 `CheckpointFile`,
`OffsetCheckpointFile`.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from ...protocol.errors import DiskFault
from .file_names import MAX_OFFSET
from .files import Files

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
FIRST_DELETIONS = "stepdown-first-deletion-checkpoint"
"""stepdown's own: the partitions that were taken over and in which nothing was deleted yet, with their end offsets."""

MAX_CHECKPOINT_BYTES = 1 << 28
_VERSION = "0"

TopicPartition = tuple[str, int]


class MalformedCheckpoint(DiskFault):
    """A checkpoint file cannot be parsed; the message names the line and what was expected there."""


class SmallFileReader(Protocol):
    """Reads small files: `Files`, or those of another place."""

    def read_whole(self, path: str, limit: int) -> bytes | None: ...


def read_checkpoint_entries(files: SmallFileReader, path: str) -> list[list[str]]:
    """Reads the fields of each entry; returns [] when the file is missing or empty.

    Raises: MalformedCheckpoint, DiskFault.
    """
    return parse_checkpoint_entries(files.read_whole(path, MAX_CHECKPOINT_BYTES) or b"", path)


def parse_checkpoint_entries(data: bytes, path: str) -> list[list[str]]:
    """Parses the fields of each entry of a checkpoint; `path` is for the message. Raises: MalformedCheckpoint."""
    if not data:
        return []
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as fault:
        raise MalformedCheckpoint(f"{path}: not UTF-8: {fault}") from fault
    if lines[-1] == "":
        lines.pop()
    if lines[0] != _VERSION:
        raise MalformedCheckpoint(f"{path}: line 1 should be the version {_VERSION}, found {lines[0][:40]!r}")
    count = lines[1] if len(lines) > 1 else ""
    if not (count.isascii() and count.isdigit()):
        raise MalformedCheckpoint(f"{path}: line 2 should be the number of entries, found {count[:40]!r}")
    if int(count) != len(lines) - 2:
        raise MalformedCheckpoint(f"{path}: {count} entries expected, found {len(lines) - 2}")
    return [line.split() for line in lines[2:]]


def parse_offset(text: str) -> int:
    """Parses an offset. Raises: ValueError if `text` is not a number or beyond the largest offset."""
    offset = int(text)
    if abs(offset) > MAX_OFFSET:
        raise ValueError(f"{text[:40]!r} is no offset")
    return offset


def write_checkpoint_entries(files: Files, path: str, entries: Iterable[str], *, sync: bool = True) -> None:
    """Replaces the file by one with these entries.

    Raises: DiskFault.
    """
    files.replace(path, format_checkpoint_entries(entries), sync=sync)


def format_checkpoint_entries(entries: Iterable[str]) -> bytes:
    """Formats a checkpoint file with these entries."""
    lines = list(entries)
    return "\n".join([_VERSION, str(len(lines)), *lines, ""]).encode()


def read_offsets(files: SmallFileReader, path: str) -> dict[TopicPartition, int]:
    """Reads the offset of each partition.

    Raises: MalformedCheckpoint, DiskFault.
    """
    offsets = {}
    for number, fields in enumerate(read_checkpoint_entries(files, path), start=3):
        try:
            topic, partition, offset = fields
            offsets[topic, int(partition)] = parse_offset(offset)
        except ValueError as fault:
            text = " ".join(fields)[:80]
            raise MalformedCheckpoint(f"{path}: line {number} should be `topic partition offset`: {text!r}") from fault
    return offsets


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replaces the file by one with these offsets.

    Raises: DiskFault.
    """
    files.replace(path, format_offsets(offsets))


def format_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """Formats a checkpoint file with these offsets."""
    return format_checkpoint_entries(f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
