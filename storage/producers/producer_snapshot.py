"""`<offset>.snapshot`: the producer state of a log at that offset.

    | offset | size | field                                          |
    | 0      | 2    | version, 1                                     |
    | 2      | 4    | CRC-32C of everything from byte 6              |
    | 6      | 4    | number of entries, 46 bytes each:              |
    |        | 8    | producer id                                    |
    |        | 2    | epoch                                          |
    |        | 4    | last sequence                                  |
    |        | 8    | last offset                                    |
    |        | 4    | last - first offset of the last batch          |
    |        | 8    | timestamp                                      |
    |        | 4    | epoch of the transaction coordinator           |
    |        | 8    | first offset of the open transaction, -1 none  |

Only the last batch of each producer is kept. Source: Kafka 3.9 `ProducerStateManager`.
"""

import logging
from bisect import insort
from collections.abc import Collection
from struct import Struct

from ...protocol.errors import DiskFault
from ...protocol.records.kernel import crc32c
from ..files.file_names import SNAPSHOT, segment_file_path
from ..files.files import Files
from .producer_states import NO_OFFSET, BatchSequence, ProducerEntry

_HEAD = Struct(">hIi")
_ENTRY = Struct(">qhiqiqiq")
_VERSION = 1
_CRC_FROM = 6
MAX_SNAPSHOT_BYTES = 1 << 28

_logger = logging.getLogger(__name__)


class CorruptSnapshot(DiskFault):
    """The snapshot file cannot be used."""


def encode_snapshot(producers: Collection[ProducerEntry]) -> bytes:
    """Encodes a snapshot file."""
    body = bytearray(len(producers).to_bytes(4, "big"))
    for entry in producers:
        last = entry.batches[-1] if entry.batches else BatchSequence(-1, NO_OFFSET, 0, -1)
        body += _ENTRY.pack(
            entry.producer_id, entry.epoch, last.last_sequence, last.last_offset, last.offset_delta,
            entry.last_timestamp, entry.coordinator_epoch, entry.transaction_first_offset,
        )  # fmt: skip
    return _VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + bytes(body)


def decode_snapshot(data: bytes, path: str) -> list[ProducerEntry]:
    """Decodes the entries of a snapshot file.

    Raises: CorruptSnapshot.
    """
    if len(data) < _HEAD.size:
        raise CorruptSnapshot(f"{path}: {len(data)} bytes, at least {_HEAD.size} expected")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"{path}: version {_VERSION} expected, found {version}")
    if crc != crc32c(memoryview(data)[_CRC_FROM:]):
        raise CorruptSnapshot(f"{path}: wrong checksum")
    if count < 0 or len(data) != _HEAD.size + count * _ENTRY.size:
        raise CorruptSnapshot(f"{path}: {count} entries do not fit into {len(data)} bytes")
    return [_decode_entry(fields) for fields in _ENTRY.iter_unpack(memoryview(data)[_HEAD.size :])]


def _decode_entry(fields: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, sequence, offset, offset_delta, timestamp, coordinator_epoch, transaction_offset = fields
    return ProducerEntry(
        producer_id,
        epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp=timestamp,
        transaction_first_offset=transaction_offset,
        batches=[BatchSequence(sequence, offset, offset_delta, timestamp)] if offset >= 0 else [],
    )


class Snapshots:
    """The producer snapshots of one log; `offsets` has the offset of each file, ascending."""

    __slots__ = ("_directory", "_files", "offsets")

    def __init__(self, files: Files, directory: str, offsets: Collection[int] = ()) -> None:
        self._files = files
        self._directory = directory
        self.offsets = sorted(offsets)

    @property
    def latest_offset(self) -> int | None:
        """The offset of the newest snapshot."""
        return self.offsets[-1] if self.offsets else None

    def path(self, offset: int) -> str:
        return segment_file_path(self._directory, offset, SNAPSHOT)

    def take(self, offset: int, producers: Collection[ProducerEntry], *, sync: bool) -> None:
        """Writes the state at `offset`, unless there is a snapshot of this or a later offset."""
        if not self.offsets or self.offsets[-1] < offset:
            self.retake(offset, producers, sync=sync)

    def retake(self, offset: int, producers: Collection[ProducerEntry], *, sync: bool) -> None:
        """Writes the state at `offset`, in place of an existing snapshot."""
        self.write(offset, encode_snapshot(producers), sync=sync)

    def write(self, offset: int, data: bytes, *, sync: bool) -> None:
        """Writes the state at `offset` from `data`, which `encode_snapshot` made."""
        self._files.replace(self.path(offset), data, sync=sync)
        if offset not in self.offsets:
            insort(self.offsets, offset)

    def read_latest(self, up_to: int) -> tuple[int, list[ProducerEntry]] | None:
        """Reads the newest usable snapshot at or below `up_to`: its offset and entries. Deletes newer unusable ones."""
        for offset in [offset for offset in reversed(self.offsets) if offset <= up_to]:
            try:
                data = self._files.read_whole(self.path(offset), MAX_SNAPSHOT_BYTES)
                if data is not None:
                    return offset, decode_snapshot(data, self.path(offset))
            except CorruptSnapshot as fault:
                _logger.warning("producer snapshot is deleted: %s", fault)
            self.remove(offset)
        return None

    def remove(self, offset: int) -> None:
        self._files.remove(self.path(offset))
        self.offsets.remove(offset)

    def remove_outside(self, start: int, end: int) -> None:
        """Deletes the snapshots below `start` and those above `end`."""
        for offset in [offset for offset in self.offsets if offset < start or offset > end]:
            self.remove(offset)

    def remove_strays(self, base_offsets: Collection[int]) -> None:
        """Deletes the snapshots that belong to no segment, except the last one above all segments (of a clean stop)."""
        newest_base = max(base_offsets, default=-1)
        strays = [offset for offset in self.offsets if offset not in base_offsets]
        for offset in strays:
            if offset < newest_base or offset != strays[-1]:
                self.remove(offset)
