"""Fetch 0 to 3 as 4: record batches of magic 2 become messages of magic 0 (Fetch 0, 1) or 1 (2, 3).

An answer begins with its size, so all of it is held before any is sent: `CLAIM_BYTES` for a request, out of one
budget, more only if the first batch alone is larger. Memory is claimed only when the cluster's answer arrives, because
a client may have the cluster wait for as long as it likes.

Fetch 3: clients rotate partitions themselves, and at least one message is given whole. Fetch 0 to 2:

    - A broker fills partitions in the order asked, and clients always send the same order: the first could take
      everything. So each partition has a share of the claim, and each fetch begins at another partition.
    - A partition that got nothing because its first batch is larger than its share is fetched again, alone: a broker
      gives the first batch of an answer whole (KIP-74).
    - If there is no memory for that batch beside the others, the next fetch begins with that partition.
    - The limit of a partition is hard: only the whole messages that fit are given.
    - If not even one fits, its first bytes are given; such clients then report a message that is too large.

Messages below the offset that was asked for, control batches, and batches that are cut at the end are left out. If
nothing is left (only a control batch at the end of the log), the gateway fetches on from the next offset until the
request's time is over; else the client would fetch the same offset again and again.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ...network.answerer import CloseConnection
from ...network.clients.losses import ZSTD
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from ...protocol.records.batches import iter_batches, next_batch_size
from ...protocol.records.conversion.down import convert_down
from ...protocol.records.kernel import plan_chunk
from ...protocol.records.layout import (
    CODEC_MASK,
    CONTROL_BIT,
    LEGACY_ATTRIBUTES_OFFSET,
    LOW_ATTRIBUTES_OFFSET,
    MAGIC_OFFSET,
    MAGIC_V1,
    MAGIC_V2,
    TRANSACTIONAL_BIT,
    Codec,
)
from ...protocol.schema import Buffer, Piece
from .translated_call import TranslatedCall

CLAIM_BYTES = 1 << 20
LEAST_SHARE_BYTES = 64 * 1024
QUICK_CODECS = (Codec.NONE, Codec.SNAPPY, Codec.LZ4)
QUICK_BATCH_BYTES = 32 * 1024
"""The largest compressed batch converted in the event loop. LZ4 opens it to 8 MB at most, converted in about 1.5 ms."""
SLICE_BYTES = 64 * 1024
"""The most bytes that one step of the event loop converts where some batches are compressed."""
MOST_ROUNDS = 16
MAGIC_1_VERSION, SOFT_LIMITS_VERSION = 2, 3
DEBUGGER, CONSUMER = -2, -1
PartitionKey = tuple[str, int]


@dataclass(slots=True)
class _ConvertedRecords:
    """The converted records of a partition. `next_offset`: the offset after the last batch."""

    data: Buffer
    next_offset: int
    error: int = 0
    transactional: int = 0
    has_lost_lz4: bool = False


@dataclass(slots=True)
class _FetchedPartition:
    """One partition of `topic` in a request. `offset` is moved on if nothing is left of the records that came."""

    topic: str
    asked: FetchPartition
    offset: int
    answer: PartitionData | None = None
    converted: _ConvertedRecords | None = None

    @property
    def size_bytes(self) -> int:
        """The size of the records that came; 0 without a whole batch."""
        return 0 if self.answer is None else _size_of_whole_batches(self.answer.records)

    @property
    def is_starved(self) -> bool:
        """Whether there is more to read, and nothing came."""
        answer = self.answer
        is_empty = answer is not None and not answer.error_code and not _size_of_whole_batches(answer.records)
        return is_empty and answer is not None and answer.high_watermark > self.offset

    @property
    def has_nothing_left(self) -> bool:
        """Whether batches came, but nothing is left of them."""
        converted = self.converted
        return (
            converted is not None and not converted.error and not converted.data and converted.next_offset > self.offset
        )


async def translate(call: TranslatedCall) -> FetchResponse:
    request: FetchRequest = call.request
    if request.replica_id not in (CONSUMER, DEBUGGER):
        raise CloseConnection("Fetch of a follower: brokers do not speak through the gateway")
    partitions = {}
    for topic in request.topics:
        async for each in call.turn.each(topic.partitions):
            partitions[topic.topic, each.partition] = _FetchedPartition(topic.topic, each, each.fetch_offset)
        await call.turn.next()
    call.held.least_claim_bytes = CLAIM_BYTES
    fetch = _TranslatedFetch(call, request, partitions)
    await fetch.run()
    return await fetch.make_response()


class _TranslatedFetch:
    """One request, until there is something to answer, or its time is over."""

    def __init__(
        self, call: TranslatedCall, request: FetchRequest, partitions: dict[PartitionKey, _FetchedPartition]
    ) -> None:
        self._call = call
        self._turn = call.turn
        self._request = request
        self._partitions = partitions
        self._target = 1 if call.version >= MAGIC_1_VERSION else 0
        self._is_hard = call.version < SOFT_LIMITS_VERSION
        self._ends_ms = call.clock.monotonic_ms() + request.max_wait_ms
        self._throttle_ms = 0
        self._transactional = 0

    async def run(self) -> None:
        keys, wait_ms, min_bytes = self._rotate_partitions(), self._request.max_wait_ms, self._request.min_bytes
        for _ in range(MOST_ROUNDS):
            await self._fetch_upstream(keys, max(0, wait_ms), min(min_bytes, CLAIM_BYTES))
            await self._fetch_starved_one_by_one(keys)
            await self._convert(keys)
            if await self._has_records_or_error() or not await self._skip_vanished_batches(keys):
                break
            keys = list(self._partitions)
            self._call.held.release()
            wait_ms, min_bytes = self._ends_ms - self._call.clock.monotonic_ms(), max(1, min_bytes)
        if self._transactional:
            self._call.count_loss("transactions", self._transactional)

    async def _has_records_or_error(self) -> bool:
        """Whether there is something to answer: records or an error."""
        found = False
        async for key in self._turn.each(self._partitions):
            outcome = self._outcome_of(key)
            found |= bool(outcome.error_code or outcome.data)
        return found

    async def _skip_vanished_batches(self, keys: Sequence[PartitionKey]) -> bool:
        """Moves offsets past batches of which nothing is left; returns whether there were any."""
        found = False
        async for key in self._turn.each(keys):
            each = self._partitions[key]
            if each.converted is not None and each.has_nothing_left:
                each.offset, found = each.converted.next_offset, True
        return found

    async def make_response(self) -> FetchResponse:
        """Names each partition once, as Kafka does, so that repeated names do not multiply its records."""
        answers: dict[str, list[PartitionData]] = {topic.topic: [] for topic in self._request.topics}
        async for key in self._turn.each(self._partitions):
            answers[key[0]].append(self._make_partition_data(key))
        topics = await self._turn.map(
            lambda each: FetchableTopicResponse(topic=each[0], partitions=each[1]), answers.items()
        )
        return FetchResponse(throttle_time_ms=self._throttle_ms, responses=topics)

    def _rotate_partitions(self) -> list[PartitionKey]:
        """The partitions in the order in which they are asked for."""
        keys = list(self._partitions)
        if not self._is_hard or not keys:
            return keys
        start = self._call.rotation.start % len(keys)
        return keys[start:] + keys[:start]

    async def _fetch_upstream(self, keys: Sequence[PartitionKey], wait_ms: int, min_bytes: int) -> bool:
        """Fetches these partitions, before Fetch 3 each up to its share; returns whether there was memory for them."""
        limit = CLAIM_BYTES if self._is_hard else max(0, min(self._request.max_bytes, CLAIM_BYTES))
        share = max(LEAST_SHARE_BYTES, CLAIM_BYTES // max(1, len(self._partitions)))
        topics: list[tuple[str, list[FetchPartition]]] = []
        async for key in self._turn.each(keys):
            each = self._partitions[key]
            most = min(each.asked.partition_max_bytes, share) if self._is_hard else each.asked.partition_max_bytes
            asked = replace(each.asked, fetch_offset=each.offset, partition_max_bytes=most)
            if not topics or topics[-1][0] != key[0]:
                topics.append((key[0], []))
            topics[-1][1].append(asked)
        request = FetchRequest(
            replica_id=self._request.replica_id,
            max_wait_ms=wait_ms,
            min_bytes=min_bytes,
            max_bytes=limit,
            topics=await self._turn.map(lambda each: FetchTopic(topic=each[0], partitions=each[1]), topics),
        )
        response: FetchResponse | None = await self._call.ask(request, self._call.sent_as, held=self._call.held)
        if response is None:
            return False
        self._throttle_ms = max(self._throttle_ms, response.throttle_time_ms)
        for topic in response.responses:
            async for answer in self._turn.each(topic.partitions):
                found = self._partitions.get((topic.topic, answer.partition_index))
                if found is not None:
                    found.answer = answer
            await self._turn.next()
        return True

    async def _fetch_starved_one_by_one(self, keys: Sequence[PartitionKey]) -> None:
        """Fetches, one at a time, the partitions whose first batch exceeds their share, until the claim is used up.
        Notes at which partition the next fetch begins."""
        if not self._is_hard:
            return
        held = self._call.held
        held.kept_bytes = 0
        async for each in self._turn.each(self._partitions.values()):
            held.kept_bytes += each.size_bytes
        last_fed, hungry = 0, None
        async for at, key in self._turn.each(enumerate(keys)):
            each = self._partitions[key]
            if each.is_starved and held.kept_bytes < CLAIM_BYTES:
                await held.claim_bytes(CLAIM_BYTES)
                if not await self._fetch_upstream([key], 0, 0) and hungry is None:
                    hungry = at
                held.kept_bytes += each.size_bytes
            last_fed = at + 1 if each.size_bytes else last_fed
        if last_fed and keys:
            order, first = list(self._partitions), last_fed if hungry is None else hungry
            self._call.rotation.start = order.index(keys[first % len(keys)])

    async def _convert(self, keys: Sequence[PartitionKey]) -> None:
        works, size = [], 0
        async for key in self._turn.each(keys):
            answer = self._partitions[key].answer
            if answer is not None:
                records = _view_of_records(answer.records)
                works.append((self._partitions[key], records))
                size += len(records)

        if size <= CLAIM_BYTES and all(await self._turn.map(lambda work: self._is_quick(work[1]), works)):
            done = [await self._convert_in_loop(*work) async for work in self._turn.each(works)]
        else:
            done = await self._call.run_in_worker(lambda: [self._convert_one(*work) for work in works])
        async for (each, _), converted in self._turn.each(zip(works, done, strict=True)):
            each.converted = converted
            if converted.error == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE:
                self._call.count_loss(ZSTD, 1, (each.topic,))
                self._call.note_refused_fetch(each.topic, each.asked.partition, each.asked.fetch_offset)
            if converted.has_lost_lz4:
                self._call.count_loss(self._call.lz4_loss, 1, (each.topic,))
            self._transactional += converted.transactional
            if each.answer is not None:
                each.answer = replace(each.answer, records=None, aborted_transactions=None)

    def _is_quick(self, records: memoryview) -> bool:
        """Whether the batches are uncompressed, or small ones of a codec that takes little time."""
        if not _has_compressed_batch(records):
            return True
        return all(
            size <= QUICK_BATCH_BYTES and attributes & CODEC_MASK in QUICK_CODECS
            for size, attributes in _each_size_and_attributes(records)
        )

    async def _convert_in_loop(self, partition: _FetchedPartition, records: memoryview) -> _ConvertedRecords:
        """Same as `_convert_one`, in the event loop: a worker thread would take twice the CPU."""
        parts, error = [], 0
        async for part in self._turn.each(_iter_slices(records)):
            data, error = _convert_down(part, self._target, partition.offset, self._call)
            parts.append(data)
            if error:
                break
        return self._finish(partition, records, parts[0] if len(parts) == 1 else b"".join(parts), error)

    def _convert_one(self, partition: _FetchedPartition, records: memoryview) -> _ConvertedRecords:
        return self._finish(partition, records, *_convert_down(records, self._target, partition.offset, self._call))

    def _finish(self, partition: _FetchedPartition, records: memoryview, data: Buffer, error: int) -> _ConvertedRecords:
        """`data`: the messages made of the records, up to the first record that cannot be converted."""
        if self._is_hard:
            data = trim_to_limit(data, max(0, partition.asked.partition_max_bytes))
        has_lost_lz4 = bool(data and self._call.lz4_loss) and _has_codec(records, Codec.LZ4)
        next_offset = partition.offset if data else _offset_after(records, partition.offset)
        transactional = _count_transactional_batches(records)
        return _ConvertedRecords(data, next_offset, 0 if data else error, transactional, has_lost_lz4)

    def _outcome_of(self, key: PartitionKey) -> "_PartitionOutcome":
        partition = self._partitions[key]
        answer, converted = partition.answer, partition.converted
        if answer is None:
            return _PartitionOutcome(ErrorCode.UNKNOWN_SERVER_ERROR, -1, b"")
        data = b"" if converted is None else converted.data
        return _PartitionOutcome(
            answer.error_code or (converted.error if converted is not None else 0), answer.high_watermark, data
        )

    def _make_partition_data(self, key: PartitionKey) -> PartitionData:
        outcome = self._outcome_of(key)
        return PartitionData(
            partition_index=key[1],
            error_code=outcome.error_code,
            high_watermark=outcome.high_watermark,
            records=outcome.data,
        )


@dataclass(slots=True)
class _PartitionOutcome:
    error_code: int
    high_watermark: int
    data: Buffer


def trim_to_limit(data: Buffer, limit_bytes: int) -> Buffer:
    """Returns the whole messages that fit; if none does, the first bytes."""
    if len(data) <= limit_bytes:
        return data
    first_bytes = plan_chunk(data, MAGIC_V1, limit_bytes)[0]  # one message at least
    return memoryview(data)[: min(first_bytes, limit_bytes)]


def _convert_down(records: memoryview, target: int, first_offset: int, call: TranslatedCall) -> tuple[Buffer, int]:
    """The messages of whole batches, and the error of the first batch that cannot be converted."""
    try:
        most_bytes = plan_chunk(records, target, len(records))[3]
        out = bytearray(min(most_bytes, len(records) * 3 // 2))  # record counts may be wrong
        converted = convert_down(records, target=target, first_offset=first_offset, out=out, zstd_to=call.zstd_to)
    except ApiError:
        return _convert_batches_before_fault(records, target, first_offset, call)
    return converted.data, 0


def _convert_batches_before_fault(
    records: memoryview, target: int, first_offset: int, call: TranslatedCall
) -> tuple[Buffer, int]:
    """As `_convert_down`, batch by batch."""
    good = bytearray()
    try:
        for batch in iter_batches(records):
            converted = convert_down(
                batch.data,
                target=target,
                first_offset=first_offset,
                out=bytearray(batch.size_bytes),
                zstd_to=call.zstd_to,
            )
            good += converted.data
    except ApiError as fault:
        return good, int(fault.code)
    return good, 0


def _offset_after(records: memoryview, offset: int) -> int:
    """The offset after the last whole batch."""
    with suppress(ApiError):
        for batch in iter_batches(records):
            offset = max(offset, batch.next_offset)
    return offset


def _each_size_and_attributes(records: memoryview) -> Iterator[tuple[int, int]]:
    """Yields size and attributes of each whole batch before the first damaged one; of magic 0 and 1 only the codec."""
    at = 0
    with suppress(ApiError):
        while (size := next_batch_size(records, at)) is not None:
            if records[at + MAGIC_OFFSET] == MAGIC_V2:
                yield size, records[at + LOW_ATTRIBUTES_OFFSET]
            else:
                yield size, records[at + LEGACY_ATTRIBUTES_OFFSET] & CODEC_MASK
            at += size


def _count_transactional_batches(records: memoryview) -> int:
    """How many of the whole batches belong to transactions."""
    return sum(
        attributes & (TRANSACTIONAL_BIT | CONTROL_BIT) == TRANSACTIONAL_BIT
        for _, attributes in _each_size_and_attributes(records)
    )


def _has_codec(records: memoryview, codec: Codec) -> bool:
    """Whether any of the whole batches has this codec."""
    return any(attributes & CODEC_MASK == codec for _, attributes in _each_size_and_attributes(records))


def _has_compressed_batch(records: memoryview) -> bool:
    """Whether any batch has to be decompressed to become a message of magic 0."""
    try:
        return plan_chunk(records, 0, len(records))[2]
    except ApiError:
        return False


def _iter_slices(records: memoryview) -> Iterator[memoryview]:
    """The batches, a few at a time where some are compressed; what follows a damaged one is not looked at."""
    most_bytes = SLICE_BYTES if _has_compressed_batch(records) else len(records)
    at = 0
    try:
        while size := plan_chunk(records[at:], 0, most_bytes)[0]:
            yield records[at : at + size]
            at += size
    except ApiError:
        yield records[at:]  # so that its fault is found


def _view_of_records(records: Piece | None) -> memoryview:
    return memoryview(b"") if records is None else memoryview(records)  # type: ignore[arg-type]  # read from a frame


def _size_of_whole_batches(records: Piece | None) -> int:
    """The size of the records, with a cut batch at their end; 0 without a whole batch."""
    if records is None:
        return 0
    view = _view_of_records(records)
    try:
        return len(view) if next_batch_size(view) is not None else 0
    except ApiError:
        return len(view)
