"""The functions of ISA-L that the isal package's own module has, for compiled loops to call without the interpreter.

They take structures, of which only the fields before the internal ones are used here. Those lie at the same places in
the releases that are named here, and the package says which it was built from. Where the functions are not to be found,
where the release is another, or where they make something else of a sample than the package does, its functions of
Python are the way.
docs/decisions/codec-functions.md tells why.
"""

from functools import cache
from typing import NamedTuple

_NAMES = ("isal_inflate_init", "isal_inflate_stateless", "isal_deflate_init", "isal_deflate")
FIRST_RELEASE, LAST_RELEASE = (2, 28), (2, 32)
"""Those whose header was looked at: igzip_lib.h, `struct isal_zstream` and `struct inflate_state`."""

_SAMPLE = b"".join(b"%d batches of %d records, " % (n * n, n % 7) for n in range(400))


class GzipFunctions(NamedTuple):
    """Addresses of functions, good for as long as the process lives."""

    make_open: int
    open: int
    make_close: int
    close: int


@cache
def gzip_functions() -> GzipFunctions | None:
    """Return the functions that `igzip_lib.compress` calls, and those that open; None where there are none."""
    import ctypes

    import isal
    from isal import igzip_lib

    try:
        if not FIRST_RELEASE <= (isal.ISAL_MAJOR_VERSION, isal.ISAL_MINOR_VERSION) <= LAST_RELEASE:
            return None
        library = ctypes.CDLL(igzip_lib.__file__)
        found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in _NAMES]
    except (AttributeError, OSError):
        return None
    functions = GzipFunctions(*found)
    return functions if _makes_the_same(functions, igzip_lib.compress(_SAMPLE, 1, igzip_lib.COMP_GZIP)) else None


def _makes_the_same(functions: GzipFunctions, packed: bytes) -> bool:
    """Whether the sample becomes `packed` by the functions, and that the sample."""
    from .kernel.gzip_streams import close_stream, gzip_streams, open_stream

    streams, sample = gzip_streams(functions), memoryview(_SAMPLE)
    state, made, opened = (memoryview(bytearray(size)) for size in (streams.state_bytes, 2 * len(sample), len(sample)))
    size = close_stream(streams, state, sample, len(sample), made, 0, len(made))
    return made[:size] == packed and open_stream(streams, state, made, 0, size, opened, len(opened)) == len(sample)
