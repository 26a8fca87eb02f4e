"""The rules of a down-conversion, which batches need a worker thread, and the statistics of a conversion."""

from dataclasses import dataclass

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.conversion.down import Converted, convert_compressed
from ...protocol.records.layout import CODEC_MASK, Codec
from .read_window import KEPT_BYTES

CHUNK_BYTES = 224 * 1024
"""Stored bytes; converted, they mostly fit into the 256 KiB that are claimed for a plain chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionRules:
    """How a slice is converted to magic `target`, from the offset `first_offset` on.

    `zstd_to`: the codec that replaces zstd; None refuses zstd. `chunk_bytes` are stored bytes. `shows_too_large`: a
    slice without a whole batch becomes an overflow entry. `most_bytes`: the hard limit of Fetch v0-v2, at which a
    slice is cut if its first batch is larger; 0 is no limit.
    """

    target: int
    first_offset: int
    zstd_to: Codec | None = None
    chunk_bytes: int = CHUNK_BYTES
    shows_too_large: bool = False
    most_bytes: int = 0

    def size_to_promise(self, slice_bytes: int, stored_bytes: int, converted_bytes: int) -> int:
        """The converted size to promise for a slice, given the stored and converted size of its first batch."""
        if self.most_bytes and stored_bytes > self.most_bytes:  # messages before the offset are not sent
            return min(converted_bytes, self.most_bytes)
        return max(slice_bytes, converted_bytes)


@dataclass(frozen=True, slots=True)
class ConversionStats:
    """What converting one slice has cost so far. Batches that were only copied are not counted."""

    records: int = 0
    temporary_bytes: int = 0
    seconds: float = 0.0
    chunks: int = 0
    padding_bytes: int = 0
    is_truncated: bool = False


def has_to_be_decompressed(header: BatchHeader, target: int) -> bool:
    """Whether a batch has to be decompressed to be converted to magic `target`."""
    return header.attributes & CODEC_MASK != 0 and header.magic > target and not header.is_control


def is_for_worker(header: BatchHeader, target: int) -> bool:
    """Whether a batch needs a worker thread: it is compressed, or larger than the window that each thread keeps, so
    that memory has to be claimed before it is read."""
    return header.size_bytes > KEPT_BYTES or has_to_be_decompressed(header, target)


def convert_compressed_batch(batch: memoryview, rules: ConversionRules) -> Converted:
    """Decompresses a batch, converts it and compresses it again."""
    return convert_compressed(batch, target=rules.target, first_offset=rules.first_offset, zstd_to=rules.zstd_to)
