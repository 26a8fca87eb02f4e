"""Estimates the memory for the next part of a converted slice, so that it can be charged first."""

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.layout import CODEC_MASK

PLAIN_BYTES = 256 * 1024
CODEC_WORKSPACE_BYTES = 256 * 1024
BLOCK_BYTES = 96 * 1024
MESSAGE_HEAD_BYTES = 24
"""Of the head of a message as much is left at most when it is compressed (`compressed_batch.MOST_HEAD_BYTES`)."""
CLAIM_STEP_BYTES = 64 * 1024
"""Batches of about one size claim the same, so that what one chunk has claimed is enough for the next."""


def claim_bytes_of(header: BatchHeader | None) -> int:
    """Memory to charge for making and holding, in a worker, a chunk that begins with the batch of that header.

    That is, beside the buffer, the batch as it is stored; with a codec the batch as it grows when it is closed again,
    too, and what a stream of either kind keeps.
    """
    batch_bytes = 0 if header is None else header.size_bytes
    if header is not None and header.attributes & CODEC_MASK:
        batch_bytes += _most_converted_bytes(header)
    steps = -(-batch_bytes // CLAIM_STEP_BYTES)
    return buffer_bytes_of(header) + CODEC_WORKSPACE_BYTES + steps * CLAIM_STEP_BYTES


def buffer_bytes_of(header: BatchHeader | None) -> int:
    """The part of that which the chunk itself is given."""
    return PLAIN_BYTES if header is None else max(PLAIN_BYTES, _most_converted_bytes(header))


def _most_converted_bytes(header: BatchHeader) -> int:
    """What a batch is expected to take at most once it is converted, and with a codec the room to close one more block.

    One of tiny records takes more, and asks for that when it comes to it.
    """
    size = header.size_bytes + header.size_bytes // 8
    if header.attributes & CODEC_MASK:
        records = max(0, header.record_count)  # as it is stored: its checksum has not been looked at
        size += BLOCK_BYTES + min(MESSAGE_HEAD_BYTES * records, header.size_bytes)
    return size
