"""Decodes batches of any magic and codec into columns; compressed ones are decompressed here before the kernel reads
them.

A compressed batch is decompressed into the columns in pieces, so it takes a few hundred KiB or one record beside its
rows, whatever its decompressed size.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..errors import InvalidRecord
from .batch import RecordBatch
from .batches import next_batch_size, view_batch
from .compression.codecs import AT_ONCE_BYTES, at_once_functions, decompress_in_chunks
from .conversion.record_stream import RecordStream, run_loop
from .kernel import MessagesDown
from .kernel.columns import RecordColumns
from .layout import MAGIC_V0, MAX_OPENED_BYTES, TimestampType
from .legacy_batch import LegacyBatch
from .record import Buffer

MAX_OFFSET = (1 << 63) - 1
NO_MIN_TIMESTAMP = -(1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRows:
    """Which rows, and which of their parts. Offsets from `first_offset` to `end_offset` (open).

    Batches that have only records older than `min_timestamp` (ms) may be skipped; older rows may still come.
    """

    first_offset: int = 0
    end_offset: int = MAX_OFFSET
    min_timestamp: int = NO_MIN_TIMESTAMP
    key: bool = True
    value: bool = True
    headers: bool = False
    checked: bool = True
    max_rows: int = 65536
    max_bytes: int = 4 << 20


class ColumnFiller:
    """Fills columns from batches. After an error `columns.position` is the position of the broken batch."""

    def __init__(
        self,
        wanted: WantedRows,
        allocate: Callable[[int], Buffer] = bytearray,
        max_opened_bytes: int = MAX_OPENED_BYTES,
    ) -> None:
        self._wanted = wanted
        self._max_opened_bytes = max_opened_bytes
        self.columns = RecordColumns(
            allocate,
            wanted.max_rows,
            wanted.max_bytes,
            wanted.first_offset,
            wanted.end_offset,
            wanted.min_timestamp,
            wanted.checked,
            wanted.key,
            wanted.value,
            wanted.headers,
        )

    def fill(self, data: Buffer, at: int = 0) -> Iterator[int]:
        """Yields -1 each time the columns are full: the caller takes and clears them. Last, and once, yields the end
        position; what the columns hold then is left to take, too.

        `data` must not change meanwhile. Less than a whole batch is left after the end position.

        Raises: CorruptRecord, InvalidRecord, RecordTooLarge.
        """
        while True:
            at, needs_codec, full = self.columns.take_batches(data, at)
            if full:
                yield -1
            elif needs_codec:
                size = next_batch_size(data, at)
                assert size is not None  # the kernel has seen the whole batch
                for _ in self._fill_from_batch(view_batch(memoryview(data)[at : at + size])):
                    yield -1
                at += size
            else:
                yield at
                return

    def _fill_from_batch(self, batch: RecordBatch | LegacyBatch) -> Iterator[None]:
        if batch.last_offset < self._wanted.first_offset:
            return
        if self._wanted.checked:
            batch.ensure_valid()
        append_time = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
        if isinstance(batch, LegacyBatch):
            self.columns.begin_messages(self._inner_base_offset(batch), append_time)
            yield from self._fill_from_stream(self._inner_messages(batch))
            return
        if batch.record_count < 0:
            raise InvalidRecord(f"the batch at offset {batch.base_offset} has {batch.record_count} records")
        if not batch.record_count and not batch.body:
            return
        self.columns.begin_records(batch.record_count, batch.base_offset, batch.base_timestamp, append_time)
        yield from self._fill_from_stream(RecordStream(self._decompress_records(batch)))

    def _decompress_records(self, batch: RecordBatch) -> Iterable[Buffer]:
        """The decompressed records of a batch: in one piece, which is faster, if it is small and usual."""
        body, functions, limit = batch.body, at_once_functions(batch.codec), self._max_opened_bytes
        if functions is not None and len(body) <= AT_ONCE_BYTES:
            opened = functions[0](body, min(AT_ONCE_BYTES, limit))
            if opened is not None:
                return (opened,)
        return decompress_in_chunks(batch.codec, body, magic=batch.magic, max_bytes=limit)

    def _fill_from_stream(self, pieces: RecordStream) -> Iterator[None]:
        while True:
            pieces.at, wanted, full = self.columns.take(pieces.data, pieces.at)
            if full:
                # The caller may open another batch, which may use the same buffer.
                pieces.data, pieces.at = bytes(memoryview(pieces.data)[pieces.at :]), 0
                yield
            elif not pieces.advance(wanted):
                break
        self.columns.check_count()

    def _inner_messages(self, wrapper: LegacyBatch) -> RecordStream:
        _, value = wrapper.key_and_value()
        if value is None:
            raise InvalidRecord(f"the wrapper at offset {wrapper.last_offset} has no value")
        return RecordStream(
            decompress_in_chunks(wrapper.codec, value, magic=wrapper.magic, max_bytes=self._max_opened_bytes)
        )

    def _inner_base_offset(self, wrapper: LegacyBatch) -> int:
        """Returns the number to add to inner offsets; in magic 1 the last of them becomes the wrapper's own."""
        if wrapper.magic == MAGIC_V0:
            return 0
        down = MessagesDown(0, False)
        run_loop(self._inner_messages(wrapper), down, _discard)
        count, last = down.summary()
        if not count:
            raise InvalidRecord(f"the wrapper at offset {wrapper.last_offset} holds no message")
        if not wrapper.last_offset:
            return 0
        if wrapper.last_offset < last:
            raise InvalidRecord(f"wrapper offset {wrapper.last_offset} below its last inner offset {last}")
        return wrapper.last_offset - last


def _discard(piece: Buffer) -> None:
    """Takes the output of a loop that writes nothing."""
