"""Checksums."""

import binascii

import crc32c as _crc32c


def crc32(data: bytes | bytearray | memoryview, crc: int = 0) -> int:
    return binascii.crc32(data, crc)


def crc32c(data: bytes | bytearray | memoryview, crc: int = 0) -> int:
    result: int = _crc32c.crc32c(data, crc)
    return result


def xxh32(data: bytes | bytearray | memoryview) -> int:
    """Return XXH32 of the data with seed 0."""
    p1, p2, p3, p4, p5, mask = 2654435761, 2246822519, 3266489917, 668265263, 374761393, 0xFFFFFFFF
    data = bytes(data)
    at, end = 0, len(data)
    if end >= 16:
        lanes = [(p1 + p2) & mask, p2, 0, -p1 & mask]
        while end - at >= 16:
            for lane in range(4):
                word = int.from_bytes(data[at : at + 4], "little")
                value = (lanes[lane] + word * p2) & mask
                lanes[lane] = ((value << 13 | value >> 19) & mask) * p1 & mask
                at += 4
        value = sum((v << r | v >> 32 - r) & mask for v, r in zip(lanes, (1, 7, 12, 18), strict=True)) & mask
    else:
        value = p5
    value = (value + end) & mask
    while end - at >= 4:
        value = (value + int.from_bytes(data[at : at + 4], "little") * p3) & mask
        value = ((value << 17 | value >> 15) & mask) * p4 & mask
        at += 4
    while at < end:
        value = (value + data[at] * p5) & mask
        value = ((value << 11 | value >> 21) & mask) * p1 & mask
        at += 1
    value = (value ^ value >> 15) * p2 & mask
    value = (value ^ value >> 13) * p3 & mask
    return value ^ value >> 16
