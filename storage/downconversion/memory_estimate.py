"""Estimates the memory for the next chunk of a converted slice, so that it can be claimed first."""

from ...protocol.records.batch_header import BatchHeader
from ...protocol.records.layout import CODEC_MASK

PLAIN_BYTES = 256 * 1024
CODEC_WORKSPACE_BYTES = 256 * 1024
BLOCK_BYTES = 96 * 1024
MESSAGE_HEAD_BYTES = 24
"""The most bytes that the head of a message takes once it is compressed (`compressed_batch.MOST_HEAD_BYTES`)."""
CLAIM_STEP_BYTES = 64 * 1024
"""Claims are rounded up to this, so that the claim of one chunk is enough for a next one of about the same size."""


def bytes_to_claim_for(header: BatchHeader | None) -> int:
    """The memory to claim for a chunk that a worker converts and that begins with the batch of that header.

    It covers the buffer, the stored batch, for a compressed one its converted form too, and the codec's workspace.
    """
    batch_bytes = 0 if header is None else header.size_bytes
    if header is not None and header.attributes & CODEC_MASK:
        batch_bytes += _most_converted_bytes(header)
    steps = -(-batch_bytes // CLAIM_STEP_BYTES)
    return buffer_bytes_of(header) + CODEC_WORKSPACE_BYTES + steps * CLAIM_STEP_BYTES


def buffer_bytes_of(header: BatchHeader | None) -> int:
    """The part of `bytes_to_claim_for` that is the buffer of the chunk."""
    return PLAIN_BYTES if header is None else max(PLAIN_BYTES, _most_converted_bytes(header))


def _most_converted_bytes(header: BatchHeader) -> int:
    """The expected size of a converted batch; for a compressed one with room for one more block of the codec.

    A batch of tiny records needs more; the stream asks for that when it finds too little room.
    """
    size = header.size_bytes + header.size_bytes // 8
    if header.attributes & CODEC_MASK:
        records = max(0, header.record_count)  # as it is stored: its checksum has not been looked at
        size += BLOCK_BYTES + min(MESSAGE_HEAD_BYTES * records, header.size_bytes)
    return size
