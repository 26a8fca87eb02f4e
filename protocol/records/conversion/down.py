"""Record batches converted down to magic 0 or 1 (KIP-283), batch by batch; `up.py` converts the other way.

Kafka 3.9, RecordsUtil.downConvert:

1. A control batch is dropped. A zstd batch is refused, or gets the codec that the caller names.
2. A batch of the target's magic or below is copied.
3. A plain one becomes a message for each record from the first offset on; a compressed one becomes one wrapper of the
   same codec with all its records. A batch without records is dropped.
4. Offsets and gaps stay. Inside a v1 wrapper they count from the first. The wrapper has the last record's offset.
5. Timestamps: CreateTime keeps each record's, the wrapper has the highest. LogAppendTime puts the batch's max timestamp
   and attribute bit 3 on all of them. Magic 0 has none. A negative one other than -1 is refused.
6. Headers, producer state and leader epoch are lost.

Unlike Kafka, the source's checksum is verified, so that damage is not given a fresh one.

Plain batches are converted by one call of the kernel into a buffer of the caller. A compressed batch passes
decompressor, kernel and compressor in pieces, so it takes a few hundred KiB or one record of up to 1 MiB beside its
result, except for snappy data in one raw block. Small batches, and LZ4 and snappy as clients write them, are converted
without the interpreter (`compressed_batch.py`).
"""

from dataclasses import dataclass
from functools import partial

from ...errors import InvalidRecord, UnsupportedCompression
from .. import kernel
from ..batch import RecordBatch
from ..batches import next_batch_size, view_batch
from ..compression.codecs import decompress_in_chunks, make_compressor
from ..layout import (
    LOG_OVERHEAD,
    MAGIC_V1,
    MAX_INT32,
    MAX_OPENED_BYTES,
    NO_TIMESTAMP,
    RECORD_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    Codec,
)
from ..legacy_batch import LegacyBatch
from ..record import Buffer
from .compressed_batch import AT_ONCE_BYTES, NO_FIRST_OFFSET, convert_to_wrapper
from .large_message_in_pieces import LargeMessages
from .large_record_in_pieces import LargeRecords
from .record_stream import RecordStream, run_loop


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """Converted batches. `data` is a view of the caller's buffer if that was large enough, else a buffer of its own.

    `records`: how many were converted, without those of copied batches. `temporary_bytes`: Kafka's
    temporaryMemoryBytes. `source_bytes`, `batches`: how much of the source was read.
    """

    data: Buffer
    size_bytes: int
    records: int
    temporary_bytes: int
    source_bytes: int
    batches: int


def convert_down(
    source: Buffer,
    *,
    target: int,
    first_offset: int,
    out: bytearray,
    zstd_to: Codec | None = None,
    max_opened_bytes: int = MAX_OPENED_BYTES,
) -> Converted:
    """Return the whole batches of `source` converted to magic `target`; a part of one at the end is ignored.

    `first_offset` is the offset that was asked for. `out` is used as far as it is large enough, and must not be
    written to while the result is used.

    Raises: CorruptRecord, InvalidRecord; UnsupportedCompression for zstd without `zstd_to`; RecordTooLarge when a batch
    opens to more than `max_opened_bytes`.
    """
    bound = kernel.plan_chunk(source, target, len(source))[3]
    if bound > len(out):
        out = bytearray(_largest_converted_size(source, target, first_offset))
    conversion = _DownConversion(target, first_offset, zstd_to, max_opened_bytes)
    joined: bytearray | None = None
    at = batches = 0
    while True:
        done = kernel.convert_plain(source, at, target, first_offset, out)
        at = done.at
        batches += done.batches
        conversion.records += done.records
        conversion.temporary_bytes += done.temporary_bytes
        plain = memoryview(out)[: done.written]
        if not done.needs_codec:
            break
        batch = _batch_at(source, at)
        converted = conversion.convert(batch)
        if joined is None and not plain:
            joined = converted
        else:
            joined = bytearray() if joined is None else joined
            joined += plain
            joined += converted
        at += batch.size_bytes
        batches += 1
    data: Buffer = plain
    if joined is not None:
        joined += plain
        data = joined
    return conversion.result(data, at, batches)


def convert_compressed(
    batch: memoryview,
    *,
    target: int,
    first_offset: int,
    zstd_to: Codec | None = None,
    max_opened_bytes: int = MAX_OPENED_BYTES,
) -> Converted:
    """Return one compressed batch converted to magic `target`.

    Raises: as `convert_down` does.
    """
    conversion = _DownConversion(target, first_offset, zstd_to, max_opened_bytes)
    return conversion.result(conversion.convert(view_batch(batch)), len(batch), 1)


def _largest_converted_size(source: Buffer, target: int, first_offset: int) -> int:
    """Returns the converted size of the largest run of plain batches."""
    at = largest = 0
    while True:
        done = kernel.convert_plain(source, at, target, first_offset, None)
        largest = max(largest, done.written)
        if not done.needs_codec:
            return largest
        at = done.at + (next_batch_size(source, done.at) or 0)


def _batch_at(source: Buffer, at: int) -> RecordBatch | LegacyBatch:
    size = next_batch_size(source, at)
    assert size is not None
    return view_batch(memoryview(source)[at : at + size])


class _DownConversion:
    """Converts compressed batches; counts their records and temporary bytes."""

    def __init__(self, target: int, first_offset: int, zstd_to: Codec | None, max_opened_bytes: int) -> None:
        self._target = target
        self._first_offset = first_offset
        self._zstd_to = zstd_to
        self._max_opened_bytes = max_opened_bytes
        self.records = 0
        self.temporary_bytes = 0

    def convert(self, batch: RecordBatch | LegacyBatch) -> bytearray:
        """Return the batch as one wrapper, or as plain messages if that is what zstd becomes; empty if nothing is left.

        Raises: as `convert_down` does.
        """
        batch.ensure_valid()
        codec = self._target_codec(batch)
        if isinstance(batch, LegacyBatch):
            return self._convert_wrapper(batch, codec)
        if batch.record_count < 0:
            raise InvalidRecord(f"the batch at offset {batch.base_offset} has {batch.record_count} records")
        if self._max_opened_bytes == MAX_OPENED_BYTES or batch.size_bytes <= AT_ONCE_BYTES <= self._max_opened_bytes:
            made = convert_to_wrapper(batch.data, self._target)
            if made is not None:
                wrapper, records, temporary_bytes = made
                self.records += records
                self.temporary_bytes += temporary_bytes
                return wrapper
        large = LargeRecords(self._target)
        while True:
            large.begin_pass()
            result = self._convert_records(batch, codec, large)
            if not large.needs_another_pass:
                return result

    def result(self, data: Buffer, source_bytes: int, batches: int) -> Converted:
        return Converted(
            data=data,
            size_bytes=len(data),
            records=self.records,
            temporary_bytes=self.temporary_bytes,
            source_bytes=source_bytes,
            batches=batches,
        )

    def _target_codec(self, batch: RecordBatch | LegacyBatch) -> Codec:
        codec = batch.codec
        if codec is not Codec.ZSTD:
            return codec
        if self._zstd_to is None or batch.magic < 2:
            raise UnsupportedCompression(
                f"the batch at offset {batch.last_offset} is zstd, which magic 0 and 1 have not"
            )
        return self._zstd_to

    def _convert_records(self, batch: RecordBatch, codec: Codec, large: LargeRecords) -> bytearray:
        append_time = batch.max_timestamp if batch.is_append_time else None
        first_offset = NO_FIRST_OFFSET if codec else self._first_offset
        relative = bool(codec) and self._target == MAGIC_V1
        down = kernel.RecordsDown(
            self._target,
            batch.record_count,
            batch.base_offset,
            batch.base_timestamp,
            append_time,
            relative,
            first_offset,
        )
        result = _ConvertedBatchWriter(self._target, codec)
        pieces = RecordStream(
            decompress_in_chunks(batch.codec, batch.body, magic=batch.magic, max_bytes=self._max_opened_bytes)
        )
        run_loop(pieces, down, result.write, giant=partial(large.measure_or_write, pieces, down, result.write))
        kept, last, newest = down.check_and_summarize()
        if large.needs_another_pass:
            return bytearray()
        return self._finish_batch(batch, result, kept, last, newest, batch.is_append_time)

    def _convert_wrapper(self, batch: LegacyBatch, codec: Codec) -> bytearray:
        """Return a v1 wrapper as a v0 wrapper; it is opened twice, since its offsets depend on its last message."""
        _, value = batch.key_and_value()
        if value is None:
            raise InvalidRecord(f"the wrapper at offset {batch.last_offset} has no value")
        base = 0
        result = _ConvertedBatchWriter(self._target, codec)
        large = LargeMessages()
        for write in False, True:
            down = kernel.MessagesDown(base, write)
            pieces = RecordStream(
                decompress_in_chunks(codec, value, magic=batch.magic, max_bytes=self._max_opened_bytes)
            )
            giant = partial(large.measure_or_write, pieces, down, result.write if write else None)
            run_loop(pieces, down, result.write, giant=giant)
            count, last = down.summary()
            if not count:
                raise InvalidRecord(f"the wrapper at offset {batch.last_offset} holds no message")
            if not write and batch.last_offset:
                if not 0 <= last <= batch.last_offset:
                    raise InvalidRecord(f"wrapper offset {batch.last_offset} with the last inner offset {last}")
                base = batch.last_offset - last
        return self._finish_batch(batch, result, count, last, NO_TIMESTAMP, False)

    def _finish_batch(
        self,
        batch: RecordBatch | LegacyBatch,
        result: "_ConvertedBatchWriter",
        kept: int,
        last: int,
        newest: int,
        marked: bool,
    ) -> bytearray:
        if not kept:
            return bytearray()
        self.records += kept
        self.temporary_bytes += batch.size_bytes + result.opened_bytes + result.head_bytes
        return result.finish(last, newest, marked)


class _ConvertedBatchWriter:
    """Collects the messages of one wrapper after room for its head; without a codec, plain messages."""

    def __init__(self, magic: int, codec: Codec) -> None:
        self._magic = magic
        self._target_codec = codec
        self.head_bytes = LOG_OVERHEAD + RECORD_OVERHEAD[magic] if codec else 0
        self.opened_bytes = 0
        self._out = bytearray(self.head_bytes)
        self._compressor = make_compressor(codec, self._out, magic=magic)

    def write(self, messages: Buffer) -> None:
        self.opened_bytes += len(messages)
        self._compressor.write(messages)

    def finish(self, last_offset: int, timestamp: int, append_time: bool) -> bytearray:
        """Return the wrapper, or the messages as they are."""
        self._compressor.finish()
        out = self._out
        size = len(out) - LOG_OVERHEAD
        if size > MAX_INT32:
            raise InvalidRecord(f"the batch that ends at offset {last_offset} becomes {size} bytes")
        if not self._target_codec:
            return out
        attributes = self._target_codec | TIMESTAMP_TYPE_BIT * append_time
        kernel.write_wrapper_head(out, 0, len(out), self._magic, attributes, last_offset, timestamp)
        return out
