"""gzip streams: the readable twin of calls to ISA-L's functions, without the interpreter (`gzip_functions.py`).

What the package's `igzip_lib.compress` does at level 1, in one call, with all of the data and room for what it becomes.
Streams are of one member under a header without names, as Kafka's clients write them; others are not opened.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from .crc import crc32_update
from .numbers import Sink, Source, little32

HEADER = b"\x1f\x8b\x08\x00"
HEADER_BYTES = 10
TRAILER_BYTES = 8
LEVEL = 1
STATE_BYTES = 128 * 1024
LEVEL_BYTES = 282_624
GZIP_FLAG = 1


class _Deflate(ctypes.Structure):
    """`struct isal_zstream` up to its internal state."""

    _fields_ = (
        ("next_in", ctypes.c_void_p),
        ("avail_in", ctypes.c_uint32),
        ("total_in", ctypes.c_uint32),
        ("next_out", ctypes.c_void_p),
        ("avail_out", ctypes.c_uint32),
        ("total_out", ctypes.c_uint32),
        ("hufftables", ctypes.c_void_p),
        ("level", ctypes.c_uint32),
        ("level_buf_size", ctypes.c_uint32),
        ("level_buf", ctypes.c_void_p),
        ("end_of_stream", ctypes.c_uint16),
        ("flush", ctypes.c_uint16),
        ("gzip_flag", ctypes.c_uint16),
        ("hist_bits", ctypes.c_uint16),
    )


class _Inflate(ctypes.Structure):
    """`struct inflate_state` up to its tables."""

    _fields_ = (
        ("next_out", ctypes.c_void_p),
        ("avail_out", ctypes.c_uint32),
        ("total_out", ctypes.c_uint32),
        ("next_in", ctypes.c_void_p),
        ("read_in", ctypes.c_uint64),
        ("avail_in", ctypes.c_uint32),
        ("read_in_length", ctypes.c_int32),
    )


class GzipStreams:
    """`at_hand`: whether there are functions to call; `state_bytes`: what both work in."""

    def __init__(self, functions: tuple[int, int, int, int] | None) -> None:
        self.at_hand = functions is not None
        self.state_bytes = STATE_BYTES + LEVEL_BYTES if functions else 0
        self.functions = functions


gzip_streams = GzipStreams


@cache
def _callable(address: int) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)


def open_stream(streams: GzipStreams, state: Sink, data: Source, at: int, size: int, opened: Sink, room: int) -> int:
    """Return the bytes that the `size` bytes from `at` open to, now in `opened`, of which at most `room` are touched.

    Less than 0 for a broken stream, one of another kind, or without room.
    """
    assert streams.functions is not None
    if size < HEADER_BYTES + TRAILER_BYTES or data[at : at + 4] != HEADER:
        return -1
    body = ctypes.create_string_buffer(bytes(data[at + HEADER_BYTES : at + size - TRAILER_BYTES]))
    made = ctypes.create_string_buffer(max(1, room))
    inflate = _Inflate.from_buffer(state)
    _callable(streams.functions[0])(ctypes.addressof(inflate))
    inflate.next_in, inflate.avail_in = ctypes.addressof(body), size - HEADER_BYTES - TRAILER_BYTES
    inflate.next_out, inflate.avail_out = ctypes.addressof(made), room
    status = _callable(streams.functions[1])(ctypes.addressof(inflate))
    total, end = int(inflate.total_out), at + size
    if status or inflate.avail_in or little32(data, end - 4) != total:
        return -1
    if little32(data, end - 8) != crc32_update(0, made.raw, total):
        return -1
    opened[:total] = made.raw[:total]
    return total


def close_stream(streams: GzipStreams, state: Sink, data: Source, size: int, sink: Sink, to: int, room: int) -> int:
    """Return the bytes of the stream, now in `sink` from `to` on, that the first `size` bytes of `data` become; 0
    without room for it: then something else is there.

    `state` is one thread's.
    """
    assert streams.functions is not None
    body, made = (
        ctypes.create_string_buffer(bytes(data[:size]), max(1, size)),
        ctypes.create_string_buffer(max(1, room)),
    )
    deflate = _Deflate.from_buffer(state)
    _callable(streams.functions[2])(ctypes.addressof(deflate))
    deflate.level, deflate.level_buf_size = LEVEL, LEVEL_BYTES
    deflate.level_buf = ctypes.addressof(deflate) + STATE_BYTES
    deflate.end_of_stream, deflate.gzip_flag = 1, GZIP_FLAG
    deflate.next_in, deflate.avail_in = ctypes.addressof(body), size
    deflate.next_out, deflate.avail_out = ctypes.addressof(made), room
    status = _callable(streams.functions[3])(ctypes.addressof(deflate))
    if status or deflate.avail_in or not deflate.avail_out:
        return 0
    total = int(deflate.total_out)
    sink[to : to + total] = made.raw[:total]
    return total
