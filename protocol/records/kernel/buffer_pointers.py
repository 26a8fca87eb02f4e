"""Buffers as the loops read and write them: pointers in the compiled kernel, views in this twin of it."""

from typing import Final

from ..record import Buffer

RELEASE_BYTES: Final = 4096  # above it the compiled loops drop the GIL


def source_of(data: Buffer) -> memoryview:
    """Returns a pointer to read from."""
    return memoryview(data)


def sink_of(data: bytearray | memoryview) -> memoryview:
    """Returns a pointer to write to."""
    return memoryview(data)


def words_of(data: memoryview) -> memoryview:
    """Returns a pointer to numbers of 32 bits."""
    return data
