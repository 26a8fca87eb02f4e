"""Checksums of bytes in a buffer: the readable twin of crc.h, which the compiled loops use."""

from __future__ import annotations

import binascii

from ..record import Buffer

_CASTAGNOLI = 0x82F63B78  # the polynomial, its lowest bit first


def crc_prepare() -> None:
    """Initializes crc.h, once in each compiled module; does nothing here."""


def crc32_update(crc: int, data: Buffer, size: int) -> int:
    """Return the CRC-32 (IEEE) of the first `size` bytes, going on from `crc`."""
    return binascii.crc32(data[:size], crc)


def crc32c_update(crc: int, data: Buffer, size: int) -> int:
    """Return the CRC-32C (Castagnoli) of the first `size` bytes, going on from `crc`."""
    crc ^= 0xFFFFFFFF
    for byte in data[:size]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def crc32_over(data: Buffer, at: int, end: int) -> int:
    """Return the CRC-32 of the bytes from `at` to `end`."""
    return crc32_update(0, data[at:end], end - at)


def crc32c_over(data: Buffer, at: int, end: int) -> int:
    """Return the CRC-32C of the bytes from `at` to `end`."""
    return crc32c_update(0, data[at:end], end - at)


def crc_at(data: Buffer, at: int) -> int:
    """Return the checksum that is stored at `at`."""
    return int.from_bytes(data[at : at + 4], "big")
