# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Scans the decompressed records of a batch, or a whole uncompressed batch, in one pass without decoding them."""

from __future__ import annotations

import cython

from .run_status import fault

if not cython.compiled:  # survey.pxd has them else
    from ..layout import (
        ATTRIBUTES_OFFSET,
        BASE_TIMESTAMP_OFFSET,
        CODEC_MASK,
        CRC_OFFSET,
        LAST_OFFSET_DELTA_OFFSET,
        MAGIC_OFFSET,
        MAX_TIMESTAMP_OFFSET,
        NO_TIMESTAMP,
        RECORD_BATCH_OVERHEAD,
        RECORD_COUNT_OFFSET,
        TRANSACTIONAL_BIT,
    )
    from .buffer_pointers import RELEASE_BYTES, source_of
    from .crc import crc32c_over, crc_at, crc_prepare
    from .decompressed_stream import Stream
    from .item import Item
    from .numbers import Source, add64, get32, get64, move
    from .reading import batch_end, read_record, record_size_at
    from .run_status import BAD_COUNT, BAD_RECORD, DONE

    BLOCKS_ROOM = 131072

from .block_decompression import BlockDecompressor

crc_prepare()

COMPILED: bool = cython.compiled


@cython.final
@cython.cclass
class RecordSurvey(Stream):
    """Scans the decompressed records of a v2 batch for timestamps, missing keys and order; writes nothing."""

    count: cython.longlong
    base_timestamp: cython.longlong
    append_time: cython.longlong
    has_append_time: cython.bint
    oldest: cython.longlong
    keyless: cython.bint
    in_order: cython.bint
    taken: cython.longlong

    def __init__(self, count: cython.longlong, base_timestamp: cython.longlong, append_time: object) -> None:
        self.count, self.base_timestamp = count, base_timestamp
        self.has_append_time = append_time is not None
        self.append_time = NO_TIMESTAMP if append_time is None else append_time
        self.seen = self.taken = self.last = 0
        self.oldest = self.newest = NO_TIMESTAMP
        self.keyless = False
        self.in_order = True
        self.item = Item()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take_whole_items(self, item: Item) -> cython.int:
        takes: cython.longlong
        timestamp: cython.longlong
        while self.seen < self.count:
            takes = record_size_at(self.data, self.at, self.end)
            if takes < 0:
                return BAD_RECORD
            if takes == 0 or takes > self.end - self.at:
                self.wanted = takes
                return DONE
            if read_record(item, self.data, self.at, self.end) < 0:
                return BAD_RECORD
            timestamp = self.append_time if self.has_append_time else add64(self.base_timestamp, item.timestamp)
            self.note(item.offset, timestamp, item.key_size < 0)
            self.at += takes
            self.taken += takes
        return DONE if self.at == self.end else BAD_COUNT

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def note(self, delta: cython.longlong, timestamp: cython.longlong, keyless: cython.bint) -> cython.void:
        if timestamp != NO_TIMESTAMP:
            self.newest = max(self.newest, timestamp)
            self.oldest = timestamp if self.oldest == NO_TIMESTAMP else min(self.oldest, timestamp)
        if keyless:
            self.keyless = True
        if delta != self.seen:
            self.in_order = False
        self.seen += 1

    def note_large_record(self, delta: cython.longlong, timestamp_delta: cython.longlong, keyless: cython.bint) -> None:
        """Counts in a record that the caller has read itself."""
        self.note(
            delta, self.append_time if self.has_append_time else add64(self.base_timestamp, timestamp_delta), keyless
        )

    def check_and_summarize(self) -> tuple[int, int, bool, bool]:
        """Returns oldest and newest timestamp, whether a record has no key, and whether offset deltas are 0, 1, 2 ...

        Raises: InvalidRecord when records are missing.
        """
        if self.seen != self.count:
            raise fault(BAD_COUNT, self.last)
        return self.oldest, self.newest, self.keyless, self.in_order


def validate_and_survey(data: cython.const[cython.uchar][::1], opened: object) -> tuple[int, int, bool] | None:
    """Returns oldest and newest timestamp and whether a record has no key, if `data` is one batch that needs no change.

    `opened` are its decompressed records, None if it is not compressed.

    Such a batch has magic 2, create time and no control bit; it is whole, its checksum, counts and newest timestamp are
    right, and a compressed one has its records in order. None for any other: the full check finds out what is wrong.
    """
    size: cython.Py_ssize_t = len(data)
    found: cython.bint
    if size <= RECORD_BATCH_OVERHEAD:
        return None
    source: Source = source_of(data)
    loop: RecordSurvey = RecordSurvey(get32(source, RECORD_COUNT_OFFSET), get64(source, BASE_TIMESTAMP_OFFSET), None)
    loop.data, loop.at, loop.end = source, RECORD_BATCH_OVERHEAD, size
    if (opened is None) != (source[ATTRIBUTES_OFFSET + 1] & CODEC_MASK == 0):
        return None
    if opened is not None:
        records: cython.const[cython.uchar][::1] = opened
        if len(records) == 0:
            return None
        loop.data, loop.at, loop.end = source_of(records), 0, len(records)
    if loop.end < RELEASE_BYTES:
        found = _batch_agrees_with_header(loop, source, size)
    else:
        with cython.nogil:
            found = _batch_agrees_with_header(loop, source, size)
    return (loop.oldest, loop.newest, loop.keyless) if found else None


def validate_and_survey_blocks(
    data: cython.const[cython.uchar][::1], blocks: BlockDecompressor, most_opened: cython.longlong
) -> tuple[int, int, bool, int] | None:
    """As `validate_and_survey`, for an LZ4 or snappy batch; also returns its decompressed size.

    `blocks`, which is this thread's, decompresses one block at a time, so memory does not grow with the batch. Returns
    None also for a batch of more than `most_opened` decompressed bytes, and for one that `BlockDecompressor` refuses.
    """
    size: cython.Py_ssize_t = len(data)
    found: cython.bint
    if size <= RECORD_BATCH_OVERHEAD:
        return None
    source: Source = source_of(data)
    loop: RecordSurvey = RecordSurvey(get32(source, RECORD_COUNT_OFFSET), get64(source, BASE_TIMESTAMP_OFFSET), None)
    with cython.nogil:
        found = _is_plain_and_intact(loop, source, size) and _blocks_agree_with_header(
            loop, source, size, blocks, most_opened
        )
    return (loop.oldest, loop.newest, loop.keyless, loop.taken) if found else None


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _blocks_agree_with_header(
    loop: RecordSurvey, data: Source, size: cython.Py_ssize_t, blocks: BlockDecompressor, most_opened: cython.longlong
) -> cython.bint:
    """Decompresses the blocks of a batch into the loop; returns whether the records agree with the header."""
    kept: cython.Py_ssize_t = 0
    if not blocks.begin_stream(data[ATTRIBUTES_OFFSET + 1] & CODEC_MASK, data, RECORD_BATCH_OVERHEAD, size, False):
        return False
    loop.data, loop.end, loop.at = blocks.opened, 0, 0
    while not blocks.is_over:
        kept = loop.end - loop.at
        move(blocks.opened, 0, loop.at, kept)
        loop.at, loop.end = 0, blocks.decompress_next(blocks.opened, kept, BLOCKS_ROOM)
        if loop.end < 0 or loop.taken + loop.end > most_opened or loop.take_whole_items(loop.item) != DONE:
            return False
    return _records_agree_with_header(loop, data)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _batch_agrees_with_header(loop: RecordSurvey, data: Source, size: cython.Py_ssize_t) -> cython.bint:
    """Reads the records of the batch into the loop; returns whether the batch is valid and agrees with its header."""
    return (
        _is_plain_and_intact(loop, data, size)
        and loop.take_whole_items(loop.item) == DONE
        and _records_agree_with_header(loop, data)
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _records_agree_with_header(loop: RecordSurvey, data: Source) -> cython.bint:
    """Whether the records that the loop has read agree with the header."""
    if loop.seen != loop.count or loop.at != loop.end:
        return False
    if data[ATTRIBUTES_OFFSET + 1] & CODEC_MASK and not loop.in_order:
        return False
    return loop.newest == get64(data, MAX_TIMESTAMP_OFFSET)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_plain_and_intact(loop: RecordSurvey, data: Source, size: cython.Py_ssize_t) -> cython.bint:
    """Whether the batch is whole, its checksum right, and its header one that `validate_and_survey` can describe."""
    if batch_end(data, 0, size) != size or data[MAGIC_OFFSET] != 2:
        return False
    if data[ATTRIBUTES_OFFSET + 1] & ~(TRANSACTIONAL_BIT | CODEC_MASK):
        return False
    if loop.count <= 0 or get32(data, LAST_OFFSET_DELTA_OFFSET) != loop.count - 1:
        return False
    return crc32c_over(data, ATTRIBUTES_OFFSET, size) == crc_at(data, CRC_OFFSET)
