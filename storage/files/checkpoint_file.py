"""Checkpoint files: a few numbers a line, replaced as a whole.

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
"""Of stepdown: the partitions that were taken over and in which nothing was deleted yet, and where their logs ended."""

MAX_CHECKPOINT_BYTES = 1 << 28
_VERSION = "0"

TopicPartition = tuple[str, int]


class MalformedCheckpoint(DiskFault):
    """A checkpoint file that cannot be read; the message says which line and what was expected."""


class SmallFileReader(Protocol):
    """What small files are read by."""

    def read_whole(self, path: str, limit: int) -> bytes | None: ...


def read_lines(files: SmallFileReader, path: str) -> list[list[str]]:
    """The fields of each entry; none when the file is missing or empty.

    Raises: MalformedCheckpoint, DiskFault.
    """
    return parse_lines(files.read_whole(path, MAX_CHECKPOINT_BYTES) or b"", path)


def parse_lines(data: bytes, path: str) -> list[list[str]]:
    """The fields of each entry of a checkpoint's bytes; `path` is for the message. Raises: MalformedCheckpoint."""
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
    """An offset of a checkpoint. Raises: ValueError for what is none, or beyond all there are."""
    offset = int(text)
    if abs(offset) > MAX_OFFSET:
        raise ValueError(f"{text[:40]!r} is no offset")
    return offset


def write_lines(files: Files, path: str, entries: Iterable[str], *, sync: bool = True) -> None:
    """Replace the file by these entries.

    Raises: DiskFault.
    """
    files.replace(path, format_lines(entries), sync=sync)


def format_lines(entries: Iterable[str]) -> bytes:
    """The bytes of a checkpoint with these entries."""
    lines = list(entries)
    return "\n".join([_VERSION, str(len(lines)), *lines, ""]).encode()


def read_offsets(files: SmallFileReader, path: str) -> dict[TopicPartition, int]:
    """The offset of each partition.

    Raises: MalformedCheckpoint, DiskFault.
    """
    offsets = {}
    for number, fields in enumerate(read_lines(files, path), start=3):
        try:
            topic, partition, offset = fields
            offsets[topic, int(partition)] = parse_offset(offset)
        except ValueError as fault:
            text = " ".join(fields)[:80]
            raise MalformedCheckpoint(f"{path}: line {number} should be `topic partition offset`: {text!r}") from fault
    return offsets


def write_offsets(files: Files, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace the file by these offsets.

    Raises: DiskFault.
    """
    files.replace(path, format_offsets(offsets))


def format_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The bytes of a checkpoint with these offsets."""
    return format_lines(f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
