# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Converts compressed v2 batches to wrappers of magic 0 or 1, without the interpreter where possible.

Compiled by Cython; uncompiled, the same file is the readable twin. LZ4 and snappy batches of any
size are converted block by block without the interpreter: decompressed (`kernel/block_decompression.py`), converted,
and compressed again with the matches that the producer found (`kernel/match_reuse.py`). The libraries handle gzip,
large records, very many small ones, and streams that Kafka's clients do not write. Most of those batches decompress to
less than `AT_ONCE_BYTES`, where the objects of a stream (`record_stream.py`) would cost more than the codecs.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import NamedTuple

import cython

from ..compression.codecs import AT_ONCE_BYTES, at_once_functions
from ..kernel.block_decompression import BlockDecompressor
from ..kernel.match_reuse import MatchReuse
from ..kernel.run_status import fault
from ..layout import MAX_OPENED_BYTES

if not cython.compiled:  # compressed_batch.pxd has them else
    from ..kernel.block_decompression import LZ4, STEP
    from ..kernel.buffer_pointers import sink_of, source_of
    from ..kernel.crc import crc_prepare
    from ..kernel.down import RecordsDown, put_wrapper_head
    from ..kernel.item import Item
    from ..kernel.match_reuse import MOST_PARTS
    from ..kernel.numbers import Sink, Source
    from ..kernel.reading import batch_end
    from ..kernel.run_status import BAD_COUNT, BAD_FRAME, DONE, NEEDS_CODEC, NO_ROOM
    from ..layout import ATTRIBUTES_OFFSET, CODEC_MASK, MAGIC_OFFSET, RECORD_BATCH_OVERHEAD, V0_OVERHEAD, V1_OVERHEAD

crc_prepare()

COMPILED: bool = cython.compiled

NO_FIRST_OFFSET = -(1 << 63)
NO_LIMIT = (1 << 63) - 1

LARGEST = cython.declare(cython.Py_ssize_t, AT_ONCE_BYTES)
MESSAGE_ROOM = cython.declare(cython.Py_ssize_t, 2 * AT_ONCE_BYTES)
CLOSED_EXTRA = cython.declare(cython.Py_ssize_t, 1024)
SNAPPY = cython.declare(cython.int, 2)
LARGEST_BLOCK = cython.declare(cython.Py_ssize_t, 64 * 1024)
MOST_LEFT = cython.declare(cython.Py_ssize_t, 6)  # a record across two blocks: at most a sixth of the first
MOST_DENSE = cython.declare(cython.Py_ssize_t, 12)
MOST_HEAD_BYTES = cython.declare(cython.Py_ssize_t, 24)
BLOCK_ROOM = cython.declare(cython.Py_ssize_t, 96 * 1024)
LEAST_OPENED = 1024  # the opened bytes that a batch counts for at least when Python handles it
MOST_OPENED_IN_ALL = cython.declare(cython.Py_ssize_t, MAX_OPENED_BYTES)


class CompressedBatchLoop:
    """The conversion loop of one thread. Its buffers are used again: the page faults of new ones would cost more than
    the conversion.

    source, size, at              the stored batches, their size, the position that conversion has reached
    sink, room, end               the output buffer, its size, how much of it is filled
    target                        the magic to convert to
    attributes, behind, opened    of the batch at `at`: attributes as in messages, its end, the size of its messages
    wanted                        the size of the output buffer that finishing this batch needs
    records, temporary_bytes      counted so far
    opened_left                   how many bytes may still be decompressed
    """

    def __init__(self) -> None:
        self.down, self.item = RecordsDown(1, 0, 0, 0, None, True, NO_FIRST_OFFSET), Item()
        self.buffer = memoryview(bytearray(2 * AT_ONCE_BYTES + STEP))
        self.messages = sink_of(self.buffer)
        self.blocks, self.match_reuse = BlockDecompressor(), MatchReuse()

    def convert(
        self,
        source: object,
        at: cython.Py_ssize_t,
        target: cython.int,
        out: object,
        end: cython.Py_ssize_t,
        most_opened: cython.Py_ssize_t,
    ) -> ConversionProgress:
        """As `convert_compressed_batches`."""
        data: cython.const[cython.uchar][::1] = source
        room: cython.uchar[::1] = out
        down: RecordsDown = self.down
        item: Item = self.item
        status: cython.int
        if not 0 <= at <= len(data) or not 0 <= end <= len(room):
            raise ValueError(f"positions {at} of {len(data)} bytes, {end} of {len(room)}")
        self.prepare(source_of(data), len(data), at, target, sink_of(room), len(room), end)
        self.opened_left = most_opened
        while True:
            with cython.nogil:
                status = self.convert_batches(down, item)
            if status == NEEDS_CODEC:
                status = self.convert_with_library(source, out)
                if status == DONE:
                    continue
            if status >= BAD_FRAME:
                if status == BAD_COUNT:
                    down.check_and_summarize()
                raise fault(status, down.last)
            return ConversionProgress(self.at, self.end, self.records, self.temporary_bytes)

    def prepare(
        self,
        source: Source,
        size: cython.Py_ssize_t,
        at: cython.Py_ssize_t,
        target: cython.int,
        sink: Sink,
        room: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
    ) -> None:
        """Prepares to convert the batches from `at` on to wrappers of magic `target`, written from `end` on."""
        self.source, self.size, self.at = source, size, at
        self.sink, self.room, self.end = sink, room, end
        self.target, self.down.target, self.down.relative = target, target, target == 1
        self.overhead = V1_OVERHEAD if target == 1 else V0_OVERHEAD
        self.records = self.temporary_bytes = self.wanted = 0

    def convert_batches(self, down: RecordsDown, item: Item) -> cython.int:
        """Converts the batches from `at` on that do not need the interpreter.

        Returns: NEEDS_CODEC before a batch that does; DONE at the end or before a batch that cannot be converted here;
        NO_ROOM; or the fault of the batch at `at`.
        """
        at: cython.Py_ssize_t
        status: cython.int
        while True:
            at = self.at
            status = self.convert_batch(down, item)
            if status != DONE or self.at == at:
                return status

    def convert_batch(self, down: RecordsDown, item: Item) -> cython.int:
        """Convert the batch at `at` and move `at` after it.

        Returns: a status as `convert_batches` does; DONE with `at` unchanged if this batch cannot be converted here.
        """
        codec: cython.int
        status: cython.int = NEEDS_CODEC
        self.behind = batch_end(self.source, self.at, self.size)
        if self.behind <= 0 or self.source[self.at + MAGIC_OFFSET] != 2:
            return DONE
        codec = self.source[self.at + ATTRIBUTES_OFFSET + 1] & CODEC_MASK
        if codec not in (LZ4, SNAPPY) and self.behind - self.at > LARGEST:
            return DONE
        self.attributes = down.begin(self.source, self.at, self.behind)
        if not self.attributes:
            return DONE
        if codec in (LZ4, SNAPPY):
            status = self.convert_by_blocks(down, item, codec)
            if status == NEEDS_CODEC and self.behind - self.at <= LARGEST:
                down.begin(self.source, self.at, self.behind)
        if status == NEEDS_CODEC and self.behind - self.at > LARGEST:
            return DONE
        return status

    def convert_by_blocks(self, down: RecordsDown, item: Item, codec: cython.int) -> cython.int:
        """Convert the LZ4 or snappy batch at `at` block by block and move `at` after it. Returns a status.

        NEEDS_CODEC, whatever the room, if the stream is unusual, or if the library would compress it better: matches do
        not reach from one block into the next, so large records across two blocks and highly repetitive data take more
        bytes here.
        """
        end: cython.Py_ssize_t
        size: cython.Py_ssize_t
        status: cython.int
        seen: cython.longlong
        rest: cython.Py_ssize_t = 0
        opened_bytes: cython.Py_ssize_t = 0
        if not self.blocks.begin_stream(codec, self.source, self.at + RECORD_BATCH_OVERHEAD, self.behind, True):
            return NEEDS_CODEC
        self.opened, self.wanted = 0, self.end + self.overhead + CLOSED_EXTRA
        if self.wanted > self.room:
            return NO_ROOM
        self.match_reuse.begin_stream(codec, self.target, self.sink, self.end + self.overhead)
        while True:
            down.end = self.blocks.decompress_next(self.blocks.opened, rest, rest + LARGEST_BLOCK)
            opened_bytes += down.end - rest
            if down.end < 0 or opened_bytes > MOST_OPENED_IN_ALL:
                return NEEDS_CODEC
            if opened_bytes > self.opened_left:
                return NO_ROOM
            if down.end == rest and self.blocks.is_over:
                break
            seen = down.seen
            down.data, down.at = self.blocks.opened, 0
            down.sink, down.written, down.room, down.wanted = self.messages, 0, MESSAGE_ROOM, 0
            status = down.take_whole_items(item)
            if status != DONE:
                return status
            rest = down.end - down.at
            if down.wanted < 0 or rest * MOST_LEFT > down.end or down.seen - seen > MOST_PARTS // 2:
                return NEEDS_CODEC
            self.wanted = self.match_reuse.to + down.written + down.written // 6 + CLOSED_EXTRA
            if self.wanted > self.room:
                return NO_ROOM
            if down.written:
                self.opened += down.written
                self.match_reuse.compress(
                    item,
                    self.blocks.opened,
                    down.at,
                    self.blocks.repeats,
                    self.blocks.repeats_count,
                    self.messages,
                    down.written,
                    self.target,
                )
            size = self.blocks.at - self.at
            if self.match_reuse.to - self.end > size + size // 8 + MOST_HEAD_BYTES * down.kept:
                return NEEDS_CODEC
            self.blocks.keep_from(down.at, down.end)
        if rest or down.seen != down.count:
            return BAD_COUNT
        if down.kept:
            end = self.match_reuse.end_stream()
            size = self.behind - self.at
            if opened_bytes > max(LARGEST_BLOCK, MOST_DENSE * size):
                return NEEDS_CODEC
            self.finish_wrapper(down, end)
        self.opened_left -= opened_bytes
        self.at = self.behind
        return DONE

    def convert_records(self, down: RecordsDown, item: Item, opened: Source, size: cython.Py_ssize_t) -> cython.int:
        """Convert the decompressed records of the batch. Returns a status; DONE: there is room to compress them."""
        status: cython.int
        down.data, down.at, down.end = opened, 0, size
        down.sink, down.written, down.room, down.wanted = self.messages, 0, MESSAGE_ROOM, 0
        status = down.take_whole_items(item)
        if status != DONE:
            return status
        if down.wanted < 0:
            return NO_ROOM
        if down.seen != down.count:
            return BAD_COUNT
        if down.kept:
            # A batch that does not fit in the thread's own buffer is never converted here: the result must not depend
            # on the room in `out`.
            self.opened = down.written
            size = self.overhead + down.written + down.written // 6 + CLOSED_EXTRA
            if size > MESSAGE_ROOM or self.end + size > self.room:
                return NO_ROOM
        return DONE

    def finish_wrapper(self, down: RecordsDown, stop: cython.Py_ssize_t) -> None:
        """Writes the head of the wrapper whose compressed value ends at `stop`, and counts it."""
        newest: cython.longlong = down.append_time if down.attributes else down.newest
        put_wrapper_head(self.sink, self.end, stop, self.target, self.attributes, down.last, newest)
        self.end = stop
        self.records += down.kept
        self.temporary_bytes += self.behind - self.at + self.opened + self.overhead

    def convert_with_library(self, source: object, out: object) -> cython.int:
        """Convert the batch at `at` with a codec of Python. Returns a status: DONE if the batch was converted."""
        functions = at_once_functions(self.attributes & CODEC_MASK)
        if functions is None or functions[1] is None or self.opened_left <= 0:
            return NO_ROOM
        down: RecordsDown = self.down
        stop: cython.Py_ssize_t
        status: cython.int
        opened = functions[0](
            source[self.at + RECORD_BATCH_OVERHEAD : self.behind], min(AT_ONCE_BYTES, self.opened_left)
        )
        if opened is None:
            return NO_ROOM
        self.opened_left -= max(len(opened), LEAST_OPENED)
        status = self.convert_decompressed(opened)
        if status != DONE:
            return status
        if down.kept:
            stop = functions[1](self.buffer[: down.written], out, self.end + self.overhead, self.target)
            with cython.nogil:
                self.finish_wrapper(down, stop)
        self.at = self.behind
        return DONE

    def convert_decompressed(self, opened: object) -> cython.int:
        """As `convert_records`, for records that a library decompressed."""
        data: cython.const[cython.uchar][::1] = opened
        size: cython.Py_ssize_t = len(data)
        opened_at: Source = source_of(data)
        status: cython.int
        with cython.nogil:
            status = self.convert_records(self.down, self.item, opened_at, size)
        return status


class _ThreadBuffers(threading.local):
    """What each thread has for itself."""

    def __init__(self) -> None:
        self.batch_loop = CompressedBatchLoop()
        self.wrapper = bytearray(2 * AT_ONCE_BYTES)


@cache
def _of_thread() -> _ThreadBuffers:
    """Made by the first use, so that a process which opens no batch does not load codecs."""
    return _ThreadBuffers()


def batch_loop_of_thread() -> CompressedBatchLoop:
    """Returns the loop of this thread, for compiled loops to call."""
    return _of_thread().batch_loop


class ConversionProgress(NamedTuple):
    """Where the last converted batch ends in source and result, how many records were converted, and Kafka's
    temporaryMemoryBytes.
    """

    source_end: int
    result_end: int
    records: int
    temporary_bytes: int


def convert_compressed_batches(
    source: object,
    at: cython.Py_ssize_t,
    target: cython.int,
    out: object,
    end: cython.Py_ssize_t,
    most_opened: cython.Py_ssize_t = NO_LIMIT,
):
    """Write the compressed batches from `at` on, each as a wrapper of magic `target`, into `out` from `end` on.

    Conversion ends before a batch that is not compressed, that `out` may have no room for, or that is damaged; call
    `convert_compressed` for it. It also ends before the batch with which all batches together would decompress to more
    than `most_opened` bytes.

    Raises: CorruptRecord, InvalidRecord.
    """
    loop: CompressedBatchLoop = batch_loop_of_thread()
    return loop.convert(source, at, target, out, end, most_opened)


def size_as_wrapper(batch: object, target: cython.int):
    """Returns the size of the wrapper that `convert_to_wrapper` makes; 0 if it makes none or a larger one than fits."""
    return convert_compressed_batches(batch, 0, target, _of_thread().wrapper, 0)[1]


def convert_to_wrapper(batch: object, target: cython.int):
    """Returns one batch as a wrapper, its record count and temporary bytes; None if it cannot be converted here."""
    loop: CompressedBatchLoop = batch_loop_of_thread()
    wrapper = (
        _of_thread().wrapper if len(batch) <= AT_ONCE_BYTES else bytearray(len(batch) + len(batch) // 8 + BLOCK_ROOM)
    )
    while True:
        at, end, records, temporary_bytes = loop.convert(batch, 0, target, wrapper, 0, NO_LIMIT)
        if at:
            return wrapper[:end], records, temporary_bytes
        if loop.wanted <= len(wrapper):
            return None
        wrapper = bytearray(max(loop.wanted, 2 * len(wrapper)))
