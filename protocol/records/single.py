"""Compressed v2 batches of ordinary size as wrappers of magic 0 or 1, each step in one piece.

Most batches open to less than `SINGLE_BYTES`: for those, objects for streams (`convert.py`) cost more than the codecs.
What comes out is the same.
"""

import threading
from typing import Final, NamedTuple

from . import kernel
from .compression import room_for, single
from .layout import CODEC_MASK, MAGIC_V0, MAGIC_V1, V0_OVERHEAD, V1_OVERHEAD

SINGLE_BYTES: Final = 128 * 1024
NO_FIRST_OFFSET: Final = -(1 << 63)

_OVERHEAD = (V0_OVERHEAD, V1_OVERHEAD)


class _Kept(threading.local):
    """A thread's buffers and loops: fresh ones cost more, in page faults, than the conversion."""

    def __init__(self) -> None:
        self.messages = memoryview(bytearray(2 * SINGLE_BYTES))
        self.wrapper = bytearray(2 * SINGLE_BYTES)
        self.down = tuple(
            kernel.RecordsDown(target, 0, 0, 0, None, target == MAGIC_V1, NO_FIRST_OFFSET)
            for target in (MAGIC_V0, MAGIC_V1)
        )


_kept = _Kept()


class Singles(NamedTuple):
    """Batches that were converted: the positions behind the last of them in source and result, their records,
    temporary bytes (what Kafka counts so).
    """

    at: int
    end: int
    records: int
    temporary_bytes: int


def convert_singles(source: memoryview, at: int, target: int, out: bytearray, end: int) -> Singles:
    """Write the compressed batches from `at` on, each as a wrapper of magic `target`, into `out` from `end` on.

    They end before a batch that is not of that kind, for which `out` has not room for sure, or which is
    damaged: `convert_compressed` then has to see to it.

    Raises: CorruptRecord, InvalidRecord.
    """
    down, messages, overhead = _kept.down[target], _kept.messages, _OVERHEAD[target]
    room, records, temporary_bytes = len(out), 0, 0
    while True:
        attributes, begin, behind = down.begin(source, at)
        codec = single(attributes & CODEC_MASK)
        if codec is None or behind - at > SINGLE_BYTES:
            break
        opened = codec[0](source[begin:behind], SINGLE_BYTES)
        if opened is None:
            break
        _, written, wanted = down.feed(opened, 0, messages)
        if wanted < 0:
            break
        kept, last, newest = down.finish()
        if kept:
            if end + overhead + room_for(written) > room:
                break
            stop = codec[1](messages[:written], out, end + overhead, target)
            kernel.wrap(out, end, stop, target, attributes, last, newest)
            end = stop
            records += kept
            temporary_bytes += behind - at + written + overhead
        at = behind
    return Singles(at, end, records, temporary_bytes)


def single_wrapper(batch: memoryview, target: int) -> tuple[bytearray, int, int] | None:
    """Return one batch as a wrapper by itself, its records, temporary bytes; None where `convert_singles` ends."""
    wrapper = _kept.wrapper
    at, end, records, temporary_bytes = convert_singles(batch, 0, target, wrapper, 0)
    return (wrapper[:end], records, temporary_bytes) if at else None
