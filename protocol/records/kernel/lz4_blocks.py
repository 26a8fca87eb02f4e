"""LZ4 blocks: the readable twin of calls to the library's functions, without the interpreter (`lz4_functions.py`).

What the package's `compress` does: an empty state, then one block of a stream.
"""

from __future__ import annotations

from .numbers import Sink, Source


class Lz4Blocks:
    """`at_hand`: whether there are functions to call; `state_bytes`: what a block's compressor works in."""

    def __init__(self, functions: tuple[int, int, int, int] | None) -> None:
        self.at_hand = functions is not None
        self.state_bytes = 0 if functions is None else functions[3]


lz4_blocks = Lz4Blocks


def open_block(blocks: Lz4Blocks, data: Source, at: int, size: int, opened: Sink, room: int) -> int:
    """Return the bytes that the block at `at` opens to, now in `opened`; less than 0 for a broken one, or without room.

    At most `room` bytes are touched.
    """
    import lz4.block

    try:
        made: bytes = lz4.block.decompress(data[at : at + size], uncompressed_size=room)
    except lz4.block.LZ4BlockError:
        return -1
    opened[: len(made)] = made
    return len(made)


def close_block(
    blocks: Lz4Blocks, state: Sink, data: Source, at: int, size: int, sink: Sink, to: int, room: int
) -> int:
    """Return the bytes of the block, now in `sink` from `to` on, that `size` bytes of `data` become; 0 without room.

    `state` is one thread's.
    """
    import lz4.block

    made: bytes = lz4.block.compress(data[at : at + size], store_size=False)
    if len(made) > room:
        return 0
    sink[to : to + len(made)] = made
    return len(made)
