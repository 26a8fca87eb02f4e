"""The functions of LZ4 that the lz4 package's own module has, for compiled loops to call without the interpreter.

The wheels for Linux and macOS export them; those of a distribution have them in the library that they are linked with.
Where they are not to be found, or make other bytes than the package does, the package's functions of Python are the
way. docs/decisions/lz4-functions.md tells why.
"""

from functools import cache
from typing import NamedTuple

_NAMES = ("LZ4_decompress_safe", "LZ4_initStream", "LZ4_compress_fast_continue")
_SAMPLE = b"".join(b"%d batches of %d records, " % (n * n, n % 7) for n in range(200))


class Lz4Functions(NamedTuple):
    """Addresses of functions, good for as long as the process lives, and the bytes of a compressor's state."""

    open: int
    clear: int
    close: int
    state_bytes: int


@cache
def lz4_functions() -> Lz4Functions | None:
    """Return the functions that make what `lz4.block.compress` makes; None where there are none."""
    import ctypes

    import lz4.block

    try:
        library = ctypes.CDLL(lz4.block._block.__file__)
        opens, clears, closes = (getattr(library, name) for name in _NAMES)
        state_bytes: int = library.LZ4_sizeofState()
    except (AttributeError, OSError):
        return None
    state = ctypes.create_string_buffer(state_bytes)
    packed = ctypes.create_string_buffer(2 * len(_SAMPLE))
    clears.argtypes, clears.restype = (ctypes.c_void_p, ctypes.c_size_t), ctypes.c_void_p
    if clears(state, state_bytes) is None:
        return None
    size = closes(state, _SAMPLE, packed, len(_SAMPLE), len(packed), 1)
    if packed[:size] != lz4.block.compress(_SAMPLE, store_size=False):
        return None
    addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (opens, clears, closes)]
    return Lz4Functions(addresses[0], addresses[1], addresses[2], state_bytes)
