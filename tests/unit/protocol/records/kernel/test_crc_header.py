"""Each of the ways in which crc.h can make a checksum, also those that this CPU would not choose.

Where the CPU lacks the instruction for one, the best that it has is checked instead.
"""

import binascii
import ctypes
import random
import shutil
import struct
import subprocess
from pathlib import Path

import crc32c
import pytest
from stepdown.protocol.records import kernel

SOURCE = """
#include "crc.h"
uint32_t ieee(uint32_t crc, const uint8_t *data, size_t size) { return crc32_update(crc, data, size); }
uint32_t castagnoli(uint32_t crc, const uint8_t *data, size_t size) { return crc32c_update(crc, data, size); }
void seal(uint8_t *messages, size_t size) { crc32_seal(messages, size); }
int choose(int way) {
    crc_prepare();
#ifdef CRC_CAN_FOLD
    int best = crc_way;
    crc_way = way;
    return best;
#else
    return 0;
#endif
}
"""
TABLES, NARROW, HALF_WIDE, WIDE = range(4)
BYTES = random.Random(3).randbytes(12000)
SIZES = [*range(300), 511, 512, 513, 767, 768, 1023, 1024, 1042, 4095, 4096, 4999]


def build(folder, *options):
    compiler = shutil.which("cc") or "gcc"
    (folder / "crc_ways.c").write_text(SOURCE)
    include = Path(kernel.__file__).parent
    command = [compiler, "-O2", "-shared", "-fPIC", *options, f"-I{include}", "-o", "crc_ways.so", "crc_ways.c"]
    subprocess.run(command, check=True, cwd=folder)
    library = ctypes.CDLL(str(folder / "crc_ways.so"))
    for name in "ieee", "castagnoli":
        function = getattr(library, name)
        function.restype = ctypes.c_uint32
        function.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t]
    library.seal.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.seal.restype = None
    return library


def message(value_bytes, crc=None):
    summed = struct.pack(">bbii", 0, 0, -1, value_bytes) + BYTES[:value_bytes]
    return struct.pack(">qiI", 7, 4 + len(summed), binascii.crc32(summed) if crc is None else crc) + summed


def check(library):
    buffer = ctypes.create_string_buffer(BYTES, len(BYTES))
    for size in SIZES:
        for start in (0, 1, 61):
            data = BYTES[start : start + size]
            at = ctypes.addressof(buffer) + start
            assert library.ieee(0, at, len(data)) == binascii.crc32(data)
            assert library.castagnoli(0, at, len(data)) == crc32c.crc32c(data)
            assert library.castagnoli(0x12345678, at, len(data)) == crc32c.crc32c(data, 0x12345678)
            assert library.ieee(0x12345678, at, len(data)) == binascii.crc32(data, 0x12345678)
    messages = bytearray(b"".join(message(size, crc=1) for size in SIZES))
    library.seal((ctypes.c_char * len(messages)).from_buffer(messages), len(messages))
    assert messages == b"".join(map(message, SIZES))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("crc"))


@pytest.mark.parametrize(
    "way",
    [TABLES, NARROW, HALF_WIDE, WIDE],
    ids=["tables", "PCLMULQDQ", "AVX2", "AVX-512"],
)
def test_every_way_makes_the_same_checksums(library, way):
    library.choose(min(way, library.choose(TABLES)))
    check(library)


def test_the_portable_build_makes_the_same_checksums(tmp_path):
    library = build(tmp_path, "-DSTEPDOWN_PORTABLE_CRC")
    assert library.choose(WIDE) == TABLES
    check(library)
