"""Down-conversion cost of one segment for old clients (bytes promised, sent, held), measured by converting it.

A fetch takes consecutive batches of up to `fetch_bytes`, one at least, from one segment, as a broker does. Its answer
promises Spre = max(what the stored batches take, what the first of them becomes) and has Spost bytes to send (KIP-283).
Spre above Spost is padded; of Spost above Spre the last batches are left out and fetched again. The first batch
of a fetch or a chunk has what that takes.

Conversion goes in chunks of 128 KiB of stored bytes, one batch at least; in memory are the chunk and what it becomes.

The ratio estimate is KIP-126's, run over the compressed batches of the segment: it starts at 1.0, falls by 0.005 and
rises by 0.05 or to what was seen. A producer sends what it estimates, times 1.05, to fit; larger batches are split.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import thread_time_ns

from ...protocol.errors import ApiError, InvalidRecord
from ...protocol.records import kernel
from ...protocol.records.batch import RecordBatch
from ...protocol.records.batches import iter_batches
from ...protocol.records.compression.codecs import decompress_in_chunks
from ...protocol.records.conversion.down import convert_down
from ...protocol.records.layout import MAX_OPENED_BYTES, Codec
from ...protocol.records.legacy_batch import LegacyBatch
from ..console_output import print_to_stderr
from ..failures import PipelineFailure
from ..places.place_files import PlaceFiles
from ..reading.segment_location import SegmentFile

CHUNK_BYTES = 128 * 1024
WINDOW_BYTES = 1 << 20
IMPROVING_STEP = 0.005
DETERIORATING_STEP = 0.05
SAFETY_FACTOR = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentCostTask:
    """A segment, and the client and limits to reckon with; sizes in bytes. `store` are options of its object store."""

    topic: str
    partition: int
    segment: SegmentFile
    magic: int
    fetch_bytes: int
    max_message_bytes: int
    store: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(slots=True, kw_only=True)
class BatchCost:
    """What was found of one batch; sizes in bytes. `base_offset` of a compressed v0 or v1 wrapper is its last offset.

    `converted_bytes` is None for zstd, which the client cannot have. `promised_bytes` (Spre), `sent_bytes` (Spost) and
    `padding_bytes` are those of the fetch that begins here, `chunk_bytes` (stored and converted) of the chunk.
    `left_out`: the fetch that it is in does not get it. `estimated_ratio` is the estimate after this batch; of
    compressed ones there is what was seen, too.
    """

    topic: str
    partition: int
    segment: int
    position: int
    base_offset: int
    magic: int
    codec: str
    stored_bytes: int
    converted_bytes: int | None = None
    promised_bytes: int | None = None
    sent_bytes: int | None = None
    padding_bytes: int | None = None
    left_out: bool = False
    chunk_bytes: int | None = None
    compressed_bytes: int | None = None
    opened_bytes: int | None = None
    observed_ratio: float | None = None
    estimated_ratio: float = 1.0
    underestimated: bool = False
    split: bool = False
    conversion_cpu_ns: int = 0


def segment_costs(task: SegmentCostTask) -> Iterator[BatchCost]:
    """Yield what each batch of the segment costs, in order.

    Raises: PipelineFailure naming file, position and reason.
    """
    walk = _CostReckoner(task)
    try:
        yield from walk.reckon()
    except ApiError as error:
        raise PipelineFailure(f"{task.segment.path}: position {walk.position}: {error}") from error


class _CostReckoner:
    """Goes over the batches in order. `position` is where it is."""

    def __init__(self, task: SegmentCostTask) -> None:
        self._task = task
        self._costs: deque[BatchCost] = deque()
        self._fetch: list[BatchCost] = []
        self._chunk: list[BatchCost] = []
        self._fetch_bytes = self._chunk_bytes = 0
        self._ratio = 1.0
        self._has_refused = False
        self.position = 0

    def reckon(self) -> Iterator[BatchCost]:
        segment = self._task.segment
        self.position = segment.start
        file = segment.open(PlaceFiles(self._task.store))
        wanted = WINDOW_BYTES
        while self.position < segment.size_bytes:
            window = memoryview(file.read(min(wanted, segment.size_bytes - self.position), self.position))
            before = self.position
            for batch in iter_batches(window):
                batch.ensure_valid()
                self._add_cost(batch)
                self.position += batch.size_bytes
                yield from self._pop_finished_costs()
            if self.position == before:
                if len(window) < wanted:  # a torn end; the headers' census reports it where it may not be
                    break
                wanted = int.from_bytes(window[8:12], "big") + 12
            else:
                wanted = WINDOW_BYTES
        file.close()
        self._end_chunk()
        self._end_fetch()
        yield from self._pop_finished_costs()

    def _pop_finished_costs(self) -> Iterator[BatchCost]:
        """Yield the batches before those whose fetch or chunk goes on."""
        open_ones = [group[0] for group in (self._fetch, self._chunk) if group]
        while self._costs and not any(self._costs[0] is cost for cost in open_ones):
            yield self._costs.popleft()

    def _add_cost(self, batch: RecordBatch | LegacyBatch) -> None:
        task = self._task
        cost = BatchCost(
            topic=task.topic,
            partition=task.partition,
            segment=task.segment.base_offset,
            position=self.position,
            base_offset=batch.base_offset if isinstance(batch, RecordBatch) else batch.last_offset,
            magic=batch.magic,
            codec=batch.codec.name.lower(),
            stored_bytes=batch.size_bytes,
        )
        self._costs.append(cost)
        if batch.is_compressed:
            self._estimate(batch, cost)
        cost.estimated_ratio = self._ratio
        if batch.magic > task.magic and batch.codec is Codec.ZSTD and not batch.is_control:
            return
        began = thread_time_ns()
        try:
            cost.converted_bytes = self._size_after_conversion(batch)
        except InvalidRecord as refusal:  # a negative timestamp, say: a broker answers old clients with an error
            if not self._has_refused:
                print_to_stderr(f"{task.segment.path}: position {self.position}: {refusal}; old clients cannot have it")
            self._has_refused = True
            return
        cost.conversion_cpu_ns = thread_time_ns() - began
        self._add_to_chunk(cost)
        self._add_to_fetch(cost)

    def _size_after_conversion(self, batch: RecordBatch | LegacyBatch) -> int:
        if batch.magic <= self._task.magic:
            return batch.size_bytes
        bound = kernel.plan_chunk(batch.data, self._task.magic, batch.size_bytes)[3]
        out = bytearray(bound)
        return convert_down(batch.data, target=self._task.magic, first_offset=-(1 << 63), out=out).size_bytes

    def _estimate(self, batch: RecordBatch | LegacyBatch, cost: BatchCost) -> None:
        stored = batch.body if isinstance(batch, RecordBatch) else (batch.key_and_value()[1] or b"")
        chunks = decompress_in_chunks(batch.codec, stored, magic=batch.magic, max_bytes=MAX_OPENED_BYTES)
        opened = sum(len(chunk) for chunk in chunks)
        if not opened:
            return
        cost.compressed_bytes, cost.opened_bytes = len(stored), opened
        cost.observed_ratio = observed = len(stored) / opened
        cost.underestimated = observed > self._ratio * SAFETY_FACTOR
        cost.split = batch.size_bytes > self._task.max_message_bytes
        if observed > self._ratio:
            self._ratio = max(self._ratio + DETERIORATING_STEP, observed)
        else:
            self._ratio = max(self._ratio - IMPROVING_STEP, observed)

    def _add_to_chunk(self, cost: BatchCost) -> None:
        if self._chunk and self._chunk_bytes + cost.stored_bytes > CHUNK_BYTES:
            self._end_chunk()
        self._chunk.append(cost)
        self._chunk_bytes += cost.stored_bytes

    def _end_chunk(self) -> None:
        chunk, self._chunk = self._chunk, []
        if chunk:
            chunk[0].chunk_bytes = self._chunk_bytes + sum(cost.converted_bytes or 0 for cost in chunk)
        self._chunk_bytes = 0

    def _add_to_fetch(self, cost: BatchCost) -> None:
        if self._fetch and self._fetch_bytes + cost.stored_bytes > self._task.fetch_bytes:
            self._end_fetch()
        self._fetch.append(cost)
        self._fetch_bytes += cost.stored_bytes

    def _end_fetch(self) -> None:
        fetch, stored, self._fetch, self._fetch_bytes = self._fetch, self._fetch_bytes, [], 0
        kept = [(cost, cost.converted_bytes) for cost in fetch if cost.converted_bytes]
        if not kept:
            return
        promised = max(stored, kept[0][1])
        sent = 0
        for cost, size in kept:
            sent += size
            cost.left_out = sent > promised
        fetch[0].promised_bytes, fetch[0].sent_bytes = promised, sent
        fetch[0].padding_bytes = max(0, promised - sent)
