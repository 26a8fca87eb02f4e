"""Decides which partitions of a fetch are converted down, to which magic, and which are refused (KIP-283).

| Fetch version | newest magic the client reads |
|---|---|
| 0, 1 | 0 |
| 2, 3 | 1 |
| 4 and later | 2 (zstd from 10 on) |

A log takes only magic 2 since inter.broker.protocol.version 3.0, so every fetch below v4 takes this path; batches
already at or below the target are copied. To promise a size, the first batch is converted: plain batches are measured
on the event loop, compressed and large ones in a worker thread. Small slices are converted as a whole, on the loop.
Bytes that were converted with a codec for that (up to a chunk of each partition; small slices as a whole) are kept for
sending while half of the conversion memory is free and no request waits for that memory.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from ...network.clients.losses import ZSTD
from ...network.clients.seen_client import SeenClient
from ...network.converted_piece import ConvertedPiece
from ...network.metrics.counts import Counter
from ...network.turn import Turn
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.records.layout import CODEC_MASK, Codec
from ...storage.downconversion.conversion_rules import ConversionRules, ConversionStats
from ...storage.downconversion.converted_stream import ConvertedStream
from ...storage.downconversion.overflow_entry import OVERFLOW_ENTRY
from ...storage.downconversion.read_window import KEPT_BYTES
from ..metrics.metrics import Metrics, codec_label
from .partition_reading import FetchParams, PartitionReading
from .session import Interest

if TYPE_CHECKING:
    from ..core import Core

FIRST_VERSION_WITH_ZSTD = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The error in place of a partition's records.

    `hides_reading`: the answer has no records field either, and no error of the reading.
    """

    code: ErrorCode
    hides_reading: bool = True


class ConversionTally:
    """Adds up what the conversions of one response took, and observes the sum when the last one is done."""

    def __init__(self, metrics: Metrics, seen: SeenClient) -> None:
        self._metrics = metrics
        self._seen = seen
        self._open = 0
        self._seconds = 0.0
        self._temporary_bytes = 0
        self._callbacks: dict[str, Callable[[ConversionStats], None]] = {}
        self._bytes: dict[tuple[int, int, int], Counter] = {}

    def expect_slice(self, topic: str, converted: ConvertedStream) -> Callable[[ConversionStats], None]:
        """Counts one more slice, which must not be empty; returns the callback for its stats."""
        self._open += 1
        header, converted.first_header = converted.first_header, None
        magic, attributes = (-1, 0) if header is None else (header.magic, header.attributes)
        target = converted.rules.target
        key = magic, target, attributes
        counter = self._bytes.get(key)
        if counter is None:
            labels = str(magic), str(min(magic, target)), codec_label(attributes)
            counter = self._bytes[key] = self._metrics.conversion_bytes.of(*labels)
        counter.add(converted.size_bytes)
        codec = attributes & CODEC_MASK
        self._seen.converted[magic, min(magic, target), codec] += 1
        if codec == Codec.LZ4 and (loss := self._seen.lz4_loss):
            self._seen.count_loss(loss, 1, (topic,))
        callback = self._callbacks.get(topic)
        if callback is None:
            callback = self._callbacks[topic] = partial(self._add, topic)
        return callback

    def end_slices(self) -> None:
        """Ends the list of slices."""
        if not self._open:
            self._observe()

    def _add(self, topic: str, stats: ConversionStats) -> None:
        metrics = self._metrics
        metrics.fetch_conversions.of(topic).add(stats.records)
        metrics.conversion_chunks.add(stats.chunks)
        metrics.padding_bytes.add(stats.padding_bytes)
        metrics.truncated_slices.add(stats.is_truncated)
        self._seconds += stats.seconds
        self._temporary_bytes += stats.temporary_bytes
        self._open -= 1
        if not self._open:
            self._observe()

    def _observe(self) -> None:
        meter = self._metrics.fetch_meter
        meter.seconds.observe(self._seconds)
        meter.temporary_bytes.observe(self._temporary_bytes)


async def convert_readings(
    core: "Core", readings: Sequence[PartitionReading], params: FetchParams, seen: SeenClient, turn: Turn
) -> dict[int, ConvertedPiece | Refusal]:
    """Returns what replaces slices of `readings`, by index; the other slices are sent as they are stored.

    Conversions are counted for the client `seen`.
    """
    if params.target_magic is None:
        return {**find_refusals(core, readings, params, seen)}
    return await _Downconversion(core, readings, params, params.target_magic, seen, turn).convert()


def find_refusals(
    core: "Core", readings: Sequence[PartitionReading], params: FetchParams, seen: SeenClient
) -> dict[int, Refusal]:
    """As `convert_readings`, for a version that needs no conversion: returns the refused partitions."""
    refused: dict[int, Refusal] = {}
    if params.version < FIRST_VERSION_WITH_ZSTD:
        for index, reading in enumerate(readings):
            if reading.topic is not None and reading.topic.settings.compression_type == "zstd":
                refused[index] = _refuse_zstd(core, reading.interest, seen)
    meter = core.metrics.fetch_meter
    meter.seconds.observe_zero()
    meter.temporary_bytes.observe_zero()
    return refused


def _refuse_zstd(core: "Core", interest: Interest, seen: SeenClient) -> Refusal:
    core.metrics.conversions_rejected.of("zstd").add()
    seen.count_loss(ZSTD, 1, (interest.topic,))
    seen.note_refused_fetch(interest.topic, interest.index, interest.fetch_offset)
    return Refusal(code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


class _Downconversion:
    """Finds the converted size of each slice of one response; all worker threads may convert its slices at once."""

    def __init__(
        self, core: "Core", readings: Sequence[PartitionReading], params: FetchParams, target: int, seen: SeenClient,
        turn: Turn,
    ) -> None:  # fmt: skip
        self._core = core
        self._params = params
        self._zstd_to = core.zstd_to
        self._make_rules = partial(
            _make_rules,
            target=target,
            zstd_to=self._zstd_to,
            chunk_bytes=min(core.settings.stepdown_downconversion_chunk_bytes, KEPT_BYTES),
        )
        self._readings = readings
        self._seen = seen
        self._next = 0
        self._tally = ConversionTally(core.metrics, seen)
        self._replaced: dict[int, ConvertedPiece | Refusal] = {}
        self._helpers_left = core.workers.most - 1
        self._helpers: asyncio.TaskGroup | None = None
        self._turn = turn

    async def convert(self) -> dict[int, ConvertedPiece | Refusal]:
        try:
            if len(self._readings) == 1:  # which no helper could convert meanwhile
                await self._convert_remaining()
            else:
                async with asyncio.TaskGroup() as self._helpers:
                    await self._convert_remaining()
        except BaseException as fault:
            for replacement in self._replaced.values():
                if isinstance(replacement, ConvertedPiece):
                    replacement.drop()
            raise fault.exceptions[0] if isinstance(fault, BaseExceptionGroup) else fault from None
        self._tally.end_slices()
        return self._replaced

    async def _convert_remaining(self) -> None:
        while self._next < len(self._readings):
            index, reading = self._next, self._readings[self._next]
            self._next += 1
            refusal = self._find_refusal(reading)
            if refusal is not None:
                self._replaced[index] = refusal
            elif reading.slice.size_bytes:
                self._replaced[index] = await self._convert(reading)
            await self._turn.next()

    def _find_refusal(self, reading: PartitionReading) -> Refusal | None:
        if reading.topic is None:
            return None
        settings = reading.topic.settings
        if settings.compression_type == "zstd" and self._zstd_to is None:
            return _refuse_zstd(self._core, reading.interest, self._seen)
        if not self._params.is_follower and not settings.message_downconversion_enable:
            self._core.metrics.conversions_rejected.of("disabled").add()
            return Refusal(code=ErrorCode.UNSUPPORTED_VERSION)
        return None

    async def _convert(self, reading: PartitionReading) -> ConvertedPiece | Refusal:
        """Returns a slice with its promised size, which begins with the first batch that has messages for the client.

        A slice with nothing but transaction markers becomes empty, so the reading continues after it: an old client
        would ask for the same offset for ever, and Kafka's answer (12 bytes) makes it fail.
        """
        topic, partition, params = reading.topic, reading.partition, self._params
        assert topic is not None and partition is not None
        offset = reading.interest.fetch_offset
        try:
            while True:
                stream = self._make_stream(reading, offset)
                conversion = ConvertedPiece(stream, self._core.conversion_memory)
                await conversion.learn_size(self._start_helper)
                if stream.size_bytes:
                    stream.on_done = self._tally.expect_slice(topic.name, stream)
                    return conversion
                visible_end_offset = partition.visible_end_offset(params.isolation_level, params.replica_id)
                if not reading.interest.fetch_offset < stream.next_offset < visible_end_offset:
                    return conversion
                offset = stream.next_offset
                reading.slice = partition.log.read(
                    offset,
                    reading.limit_bytes,
                    below=visible_end_offset,
                    min_one_message=params.limits_are_soft,
                    allow_partial=not params.limits_are_soft,
                )
                if not reading.slice.size_bytes:
                    return conversion
                await self._turn.next()
        except ApiError as error:
            if error.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
                return _refuse_zstd(self._core, reading.interest, self._seen)
            self._core.metrics.conversions_rejected.of("corrupt").add()
            return Refusal(code=error.code)

    def _start_helper(self) -> None:
        """Starts a task that promises the next slices, while this one waits for a worker thread."""
        if self._helpers is not None and self._helpers_left and self._next < len(self._readings):
            self._helpers_left -= 1
            self._helpers.create_task(self._convert_remaining())

    def _make_stream(self, reading: PartitionReading, offset: int) -> ConvertedStream:
        """The stream of the slice that was read from `offset` on.

        Where the hard limit of an old version leaves no whole batch, the first batch is converted anyway and cut at the
        limit: to the messages that fit, or to the first bytes of one.
        """
        params = self._params
        # Where other partitions left this one less than its own limit, a later fetch will return the batch.
        is_crowded = reading.limit_bytes < min(reading.interest.max_bytes, params.max_bytes)
        is_limited = not params.limits_are_soft and not is_crowded
        first_offset = reading.interest.fetch_offset
        rules = self._make_rules(first_offset=first_offset, shows_too_large=is_limited, most_bytes=0)
        converted = ConvertedStream(reading.slice, rules)
        if converted.first_header is None and is_limited and reading.slice.size_bytes:
            assert reading.partition is not None
            below = reading.partition.visible_end_offset(params.isolation_level, params.replica_id)
            whole = reading.partition.log.read(offset, reading.limit_bytes, below=below, min_one_message=True)
            most_bytes = max(reading.limit_bytes, OVERFLOW_ENTRY.size)
            rules = self._make_rules(first_offset=first_offset, shows_too_large=True, most_bytes=most_bytes)
            converted = ConvertedStream(whole, rules)
        return converted


@lru_cache(maxsize=256)
def _make_rules(
    *, target: int, zstd_to: Codec | None, chunk_bytes: int, first_offset: int, shows_too_large: bool, most_bytes: int
) -> ConversionRules:
    """Shares one object for equal rules, since a slice keeps its rules until its client has read it."""
    return ConversionRules(
        target=target,
        first_offset=first_offset,
        zstd_to=zstd_to,
        chunk_bytes=chunk_bytes,
        shows_too_large=shows_too_large,
        most_bytes=most_bytes,
    )
