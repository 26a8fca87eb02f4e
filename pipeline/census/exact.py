"""What fetches of one segment by an old client would promise, send and hold: found by converting its batches.

A fetch takes consecutive batches of up to `fetch_bytes`, one at least, from one segment, as a broker does. Its answer
promises Spre = max(what the stored batches take, what the first of them becomes) and has Spost bytes to send (KIP-283).
Spre above Spost is padded; of Spost above Spre the last batches are left out and fetched again.

Conversion goes in chunks of 128 KiB of stored bytes, one batch at least; in memory are the chunk and what it becomes.

The ratio estimate is KIP-126's, run over the compressed batches of the segment: it starts at 1.0, falls by 0.005 and
rises by 0.05 or to what was seen. A producer sends what it estimates, times 1.05, to fit; larger batches are split.
"""

from dataclasses import dataclass, field

from ...protocol.errors import ApiError
from ...protocol.records import kernel
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import iter_batches
from ...protocol.records.compression import read_chunks
from ...protocol.records.convert import convert_down
from ...protocol.records.layout import MAX_OPENED_BYTES, Codec
from ...protocol.records.message_set import LegacyBatch
from ...storage.files import Files
from ..failures import PipelineFailure
from ..reading.log_files import SegmentFile

CHUNK_BYTES = 128 * 1024
WINDOW_BYTES = 1 << 20
IMPROVING_STEP = 0.005
DETERIORATING_STEP = 0.05
SAFETY_FACTOR = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTask:
    """A segment, and the client and limits to reckon with; sizes in bytes."""

    topic: str
    partition: int
    segment: SegmentFile
    magic: int
    fetch_bytes: int
    max_message_bytes: int


@dataclass(slots=True, kw_only=True)
class Exact:
    """What was found in one segment; sizes in bytes. `unreadable_bytes` are zstd, which the client cannot have."""

    topic: str
    partition: int
    segment: int
    batches: int = 0
    stored_bytes: int = 0
    converted_bytes: int = 0
    unreadable_bytes: int = 0
    fetches: int = 0
    promised_bytes: int = 0
    padding_bytes: int = 0
    left_out_batches: int = 0
    largest_chunk_bytes: int = 0
    compressed_bytes: int = 0
    opened_bytes: int = 0
    estimated_ratio: float = 1.0
    underestimated_batches: int = 0
    split_batches: int = 0


@dataclass(slots=True)
class _Fetch:
    """Batches of one fetch so far: stored and converted sizes."""

    stored: list[int] = field(default_factory=list)
    converted: list[int] = field(default_factory=list)


def take_exactly(task: ExactTask) -> Exact:
    """Return what the segment holds. Raises: PipelineFailure naming file, position and reason."""
    found = Exact(topic=task.topic, partition=task.partition, segment=task.segment.base_offset)
    walk = _Walk(task, found)
    try:
        walk.run()
    except ApiError as error:
        raise PipelineFailure(f"{task.segment.path}: position {walk.position}: {error}") from error
    return found


class _Walk:
    """Goes over the batches in order. `position` is where it is."""

    def __init__(self, task: ExactTask, found: Exact) -> None:
        self._task = task
        self._found = found
        self._fetch = _Fetch()
        self._chunk = (0, 0)
        self.position = 0

    def run(self) -> None:
        segment = self._task.segment
        file = Files(read_only=True).handle(segment.path)
        wanted = WINDOW_BYTES
        while self.position < segment.size_bytes:
            window = memoryview(file.read(min(wanted, segment.size_bytes - self.position), self.position))
            before = self.position
            for batch in iter_batches(window):
                batch.ensure_valid()
                self._take(batch)
                self.position += batch.size_bytes
            if self.position == before:
                if len(window) < wanted:  # a torn end; the headers' census tells of it where it may not be
                    break
                wanted = int.from_bytes(window[8:12], "big") + 12
            else:
                wanted = WINDOW_BYTES
        file.close()
        self._end_chunk()
        self._end_fetch()

    def _take(self, batch: RecordBatch | LegacyBatch) -> None:
        found, size = self._found, batch.size_bytes
        found.batches += 1
        found.stored_bytes += size
        if batch.is_compressed:
            self._estimate(batch)
        if batch.magic > self._task.magic and batch.codec is Codec.ZSTD and not batch.is_control:
            found.unreadable_bytes += size
            return
        converted = self._converted_size(batch)
        found.converted_bytes += converted
        if self._chunk[0] and self._chunk[0] + size > CHUNK_BYTES:
            self._end_chunk()
        self._chunk = (self._chunk[0] + size, self._chunk[1] + converted)
        if self._fetch.stored and sum(self._fetch.stored) + size > self._task.fetch_bytes:
            self._end_fetch()
        self._fetch.stored.append(size)
        self._fetch.converted.append(converted)

    def _converted_size(self, batch: RecordBatch | LegacyBatch) -> int:
        if batch.magic <= self._task.magic:
            return batch.size_bytes
        bound = kernel.plan(batch.data, self._task.magic, batch.size_bytes)[3]
        out = bytearray(bound)
        return convert_down(batch.data, target=self._task.magic, first_offset=-(1 << 63), out=out).size_bytes

    def _estimate(self, batch: RecordBatch | LegacyBatch) -> None:
        found = self._found
        stored = batch.body if isinstance(batch, RecordBatch) else (batch.key_and_value()[1] or b"")
        chunks = read_chunks(batch.codec, stored, magic=batch.magic, max_bytes=MAX_OPENED_BYTES)
        opened = sum(len(chunk) for chunk in chunks)
        if not opened:
            return
        found.compressed_bytes += len(stored)
        found.opened_bytes += opened
        observed = len(stored) / opened
        found.underestimated_batches += observed > found.estimated_ratio * SAFETY_FACTOR
        found.split_batches += batch.size_bytes > self._task.max_message_bytes
        if observed > found.estimated_ratio:
            found.estimated_ratio = max(found.estimated_ratio + DETERIORATING_STEP, observed)
        else:
            found.estimated_ratio = max(found.estimated_ratio - IMPROVING_STEP, observed)

    def _end_chunk(self) -> None:
        self._found.largest_chunk_bytes = max(self._found.largest_chunk_bytes, sum(self._chunk))
        self._chunk = (0, 0)

    def _end_fetch(self) -> None:
        fetch, found = self._fetch, self._found
        self._fetch = _Fetch()
        kept = [size for size in fetch.converted if size]
        if not kept:
            return
        promised = max(sum(fetch.stored), kept[0])
        found.fetches += 1
        found.promised_bytes += promised
        sent = 0
        for size in kept:
            if sent + size > promised:
                found.left_out_batches += 1
            sent += size
        found.padding_bytes += max(0, promised - sent)
