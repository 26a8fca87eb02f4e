"""Files beside the segments: producer snapshots, checkpoints, partition.metadata, meta.properties."""

from __future__ import annotations

from collections.abc import Iterator

from ...protocol.errors import DiskFault
from ...storage.directories import meta_properties
from ...storage.files import checkpoint_file, partition_metadata
from ...storage.files.files import Files
from ...storage.log import leader_epochs
from ...storage.producers.producer_snapshot import MAX_SNAPSHOT_BYTES, decode_snapshot
from .segment_rows import Row, problem_row

CHECKPOINTS = (
    checkpoint_file.RECOVERY_POINTS,
    checkpoint_file.LOG_STARTS,
    checkpoint_file.HIGH_WATERMARKS,
    checkpoint_file.CLEANER_OFFSETS,
)
STATE_FILES = (*CHECKPOINTS, leader_epochs.FILE_NAME, partition_metadata.FILE_NAME, meta_properties.FILE_NAME)


def snapshot_rows(files: Files, path: str) -> Iterator[Row]:
    """Yields a row of kind "producer" for each producer of a snapshot."""
    try:
        entries = decode_snapshot(files.read_whole(path, MAX_SNAPSHOT_BYTES) or b"", path)
    except DiskFault as fault:
        yield problem_row(str(fault))
        return
    for entry in entries:
        last = entry.batches[-1] if entry.batches else None
        yield {
            "kind": "producer",
            "producer_id": entry.producer_id,
            "producer_epoch": entry.epoch,
            "coordinator_epoch": entry.coordinator_epoch,
            "transaction_first_offset": entry.transaction_first_offset,
            "last_timestamp": entry.last_timestamp,
            "first_sequence": None if last is None else last.first_sequence,
            "last_sequence": None if last is None else last.last_sequence,
            "last_offset": None if last is None else last.last_offset,
        }


def state_file_rows(files: Files, directory: str, name: str) -> Iterator[Row]:
    """Yields the rows of one of `STATE_FILES` in `directory`."""
    try:
        if name in CHECKPOINTS:
            yield from _checkpoint_rows(files, f"{directory}/{name}")
        elif name == leader_epochs.FILE_NAME:
            yield from _epoch_rows(files, f"{directory}/{name}")
        elif name == partition_metadata.FILE_NAME:
            yield {"kind": "topic_id", "topic_id": str(partition_metadata.read_topic_id(files, directory))}
        else:
            yield from _identity_rows(files, directory)
    except DiskFault as fault:
        yield problem_row(str(fault))


def _checkpoint_rows(files: Files, path: str) -> Iterator[Row]:
    for (topic, partition), offset in checkpoint_file.read_offsets(files, path).items():
        yield {"kind": "checkpoint", "topic": topic, "partition": partition, "offset": offset}


def _epoch_rows(files: Files, path: str) -> Iterator[Row]:
    before = (-1, -1)
    for number, fields in enumerate(checkpoint_file.read_checkpoint_entries(files, path), start=3):
        if len(fields) != 2 or not all(field.isascii() and field.isdigit() for field in fields):
            yield problem_row(f"line {number} should be an epoch and the offset it begins at")
            return
        epoch, start_offset = int(fields[0]), int(fields[1])
        yield {"kind": "leader_epoch", "epoch": epoch, "start_offset": start_offset}
        if epoch <= before[0] or start_offset <= before[1]:
            yield problem_row(f"line {number} does not ascend")
        before = (epoch, start_offset)


def _identity_rows(files: Files, directory: str) -> Iterator[Row]:
    found = meta_properties.read_meta_properties(files, directory)
    if found is not None:
        yield {
            "kind": "identity",
            "version": found.version,
            "node_id": found.node_id,
            "cluster_id": found.cluster_id,
            "directory_id": None if found.directory_id is None else str(found.directory_id),
        }
