"""Memory that a chunk of a converted slice takes while it is made and sent, to charge before it is."""

from .batch_headers import BatchHeader
from .slices import FileSlice
from .windows import batch_at

PLAIN_CLAIM_BYTES = 256 * 1024
CODEC_WORKSPACE_BYTES = 256 * 1024
CLAIM_STEP_BYTES = 64 * 1024
"""Batches of about one size claim the same, so that what one chunk has claimed is enough for the next."""


def claim_for(source: FileSlice, at: int, with_codec: bool) -> int:
    """Memory to charge for making and holding a chunk that begins at `at`.

    With a codec that is, beside the buffer, the batch as it is stored and as it grows when it is closed again, and what
    a stream of either kind keeps.
    """
    room = buffer_for(source, at, with_codec)
    if not with_codec:
        return room
    header = batch_at(source, at)
    batch_bytes = 0 if header is None else _closed_again(header) + header.size_bytes
    return room + CODEC_WORKSPACE_BYTES + -(-batch_bytes // CLAIM_STEP_BYTES) * CLAIM_STEP_BYTES


def buffer_for(source: FileSlice, at: int, with_codec: bool) -> int:
    """The part of that which the chunk itself is given."""
    header = batch_at(source, at) if with_codec else None
    return PLAIN_CLAIM_BYTES if header is None else max(PLAIN_CLAIM_BYTES, _closed_again(header))


def _closed_again(header: BatchHeader) -> int:
    """What a compressed batch is expected to take at most once it was opened, converted and compressed."""
    return header.size_bytes + header.size_bytes // 8
