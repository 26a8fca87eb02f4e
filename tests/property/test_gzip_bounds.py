"""ISA-L's functions stay within what they are given: behind input and output lies a page that may not be touched."""

import ctypes
import mmap
from random import Random

import pytest
from isal import igzip_lib
from stepdown.protocol.records.gzip_functions import gzip_functions
from stepdown.protocol.records.kernel import gzip_streams as twin

ROOM = 256 * 1024
SIZES = (0, 1, 50, 1000, 16_000, 60_000, 131_072)


class Guarded:
    """Memory up to `end`, behind which any access ends the process."""

    def __init__(self) -> None:
        self._pages = mmap.mmap(-1, ROOM + mmap.PAGESIZE)
        self.end = ctypes.addressof(ctypes.c_char.from_buffer(self._pages)) + ROOM
        assert _protect(self.end, mmap.PAGESIZE, 0) == 0

    def put(self, data: bytes) -> int:
        """Where `data` is that ends at `end`."""
        ctypes.memmove(self.end - len(data), data, len(data))
        return self.end - len(data)


def _protect(address: int, size: int, rights: int) -> int:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return int(protect(address, size, rights))


@pytest.fixture(scope="module")
def memory() -> tuple[Guarded, Guarded]:
    return Guarded(), Guarded()


def content(random: Random) -> bytes:
    size, kind = random.choice(SIZES), random.randrange(3)
    return (
        random.randbytes(size)
        if kind == 0
        else bytes(random.choices(b"abcdefghij", k=size))
        if kind == 1
        else bytes(size)
    )


def damaged(random: Random, body: bytes) -> bytes:
    made = bytearray(body)
    for _ in range(random.choice((0, 1, 3, 20)) if made else 0):
        made[random.randrange(len(made))] = random.randrange(256)
    return bytes(made[: random.randrange(len(made) + 1)] if random.random() < 0.2 else made)


@pytest.mark.parametrize("seed", range(5))
def test_opening_touches_nothing_behind_a_stream_or_the_room_for_it(memory: tuple[Guarded, Guarded], seed: int) -> None:
    functions, random, (source, sink) = gzip_functions(), Random(seed), memory
    assert functions is not None
    state = bytearray(twin.STATE_BYTES)
    good = 0
    for _ in range(40):
        data = content(random)
        body = igzip_lib.compress(data, random.choice((0, 1, 2, 3)), igzip_lib.COMP_DEFLATE)
        for _ in range(20):
            stream, room = damaged(random, body), random.choice((131_072, len(data), len(data) // 2))
            inflate = twin._Inflate.from_buffer(state)
            twin._callable(functions.make_open)(ctypes.addressof(inflate))
            inflate.next_in, inflate.avail_in = source.put(stream), len(stream)
            inflate.next_out, inflate.avail_out = sink.end - room, room
            status = twin._callable(functions.open)(ctypes.addressof(inflate))
            assert inflate.total_out <= room
            if stream == body and room >= len(data) and status == 0:
                assert ctypes.string_at(sink.end - room, len(data)) == data
                good += 1
    assert good > 100


@pytest.mark.parametrize("seed", range(5))
def test_closing_touches_nothing_behind_the_data_or_the_room_for_it(memory: tuple[Guarded, Guarded], seed: int) -> None:
    functions, random, (source, sink) = gzip_functions(), Random(seed), memory
    assert functions is not None
    state = bytearray(twin.STATE_BYTES + twin.LEVEL_BYTES)
    for _ in range(60):
        data = content(random)
        enough = len(data) + len(data) // 6 + 1024
        room = random.choice((10, len(data), enough, random.randrange(len(data) + 2000)))
        deflate = twin._Deflate.from_buffer(state)
        twin._callable(functions.make_close)(ctypes.addressof(deflate))
        deflate.level, deflate.level_buf_size = twin.LEVEL, twin.LEVEL_BYTES
        deflate.level_buf = ctypes.addressof(deflate) + twin.STATE_BYTES
        deflate.end_of_stream, deflate.gzip_flag = 1, twin.GZIP_FLAG
        deflate.next_in, deflate.avail_in = source.put(data), len(data)
        deflate.next_out, deflate.avail_out = sink.end - room, room
        status = twin._callable(functions.close)(ctypes.addressof(deflate))
        assert deflate.total_out <= room
        if status or deflate.avail_in or not deflate.avail_out:
            assert room < enough
        else:
            made = ctypes.string_at(sink.end - room, deflate.total_out)
            assert igzip_lib.decompress(made, igzip_lib.DECOMP_GZIP) == data
