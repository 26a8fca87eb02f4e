"""Buffers as the loops read and write them: pointers in the compiled kernel, views in this twin of it."""

from typing import Final

from ..record import Buffer

RELEASE_BYTES: Final = 4096  # above it the compiled loops drop the GIL


def source_of(data: Buffer) -> memoryview:
    """Return where to read."""
    return memoryview(data)


def sink_of(data: bytearray | memoryview) -> memoryview:
    """Return where to write."""
    return memoryview(data)


def words_of(data: memoryview) -> memoryview:
    """Return where numbers of 32 bits are read and written."""
    return data
