"""Fetch, versions 0-17 (KIP-74, 98, 110, 227, 283, 320, 392, 516, 595, 951).

Reads what is asked for within its limits, waits for `min_bytes` or `max_wait_ms`, converts down for versions below 4,
and answers with slices that are read, or converted, as they are sent.

Version notes: v0 has no throttle time; v0-v2 hard limits; v3 a limit for the response and KIP-74's first batch; v4
isolation; v5 log start; v7 sessions; v9 leader epochs; v10 zstd; v12 divergence; v13 topic ids; v16 endpoints of a
new leader. From v11 on followers serve consumers.
"""

from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.fetch import FetchRequest, FetchResponse
from ...protocol.primitives import size_of
from ...protocol.schema import SizedPiece
from ..dispatch.call import Call
from ..fetch.downconversion import Refusal, convert_readings, find_refusals
from ..fetch.partition_reading import (
    FIRST_VERSION_WITH_SOFT_LIMITS,
    DelayedFetch,
    FetchParams,
    PartitionReading,
    may_have_many_aborted,
    read_all,
    read_at_once,
)
from ..fetch.response import (
    PartitionAnswer,
    by_topic,
    error_code_for_version,
    partition_data,
    partition_error,
    response_of,
)
from ..fetch.session import FIRST_VERSION_WITH_SESSIONS, FetchContext, interests_of, replica_id_of
from ..quotas.request_charging import UNLIMITED

if TYPE_CHECKING:
    from ..services import Services

# Errors that clients cause, or may meet at any time; they are not counted as failed fetches.
EXPECTED_FAILURES = (
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)

MOST_PARTITIONS_OF_SHORT_FETCH = 32
"""A fetch of more is long. Only a few long fetches run at once: what each holds in memory while it yields adds up."""
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def handle(
    services: "Services", request: FetchRequest, call: Call
) -> FetchResponse | Coroutine[Any, Any, FetchResponse]:
    try:
        context = services.sessions.open(request, call.version)
    except ApiError as error:
        return FetchResponse(error_code=error.code)
    fetch = Fetch(services, context, request, call)
    if len(context.interests) > MOST_PARTITIONS_OF_SHORT_FETCH:
        return fetch.answer_many_partitions()
    params = fetch.params
    readings = read_at_once(services.cluster, context.interests, params)
    if not fetch.is_due(readings):
        return fetch.wait_and_answer(readings)
    if params.target_magic is not None or (params.reads_committed and any(map(may_have_many_aborted, readings))):
        return fetch.convert_and_answer(readings)
    return fetch.answer(readings, find_refusals(services, readings, params, call.peer.seen))


def refuse(request: FetchRequest, error: ApiError, call: Call) -> FetchResponse:
    code = error_code_for_version(error.code, call.version)
    if call.version >= FIRST_VERSION_WITH_SESSIONS:
        return FetchResponse(error_code=code)
    return FetchResponse(
        responses=by_topic([(i, partition_error(i, code, call.version)) for i in interests_of(request)]),
        error_code=ErrorCode.NONE,
    )


class Fetch:
    """One fetch: the partitions to read, its limits, and the client."""

    __slots__ = ("_call", "_context", "_max_wait_ms", "_services", "params")

    def __init__(self, services: "Services", context: FetchContext, request: FetchRequest, call: Call) -> None:
        self._services = services
        self._context = context
        self._max_wait_ms = request.max_wait_ms
        self._call = call
        version, max_bytes = call.version, services.settings.fetch_max_bytes
        if version >= FIRST_VERSION_WITH_SOFT_LIMITS and request.max_bytes < max_bytes:
            max_bytes = request.max_bytes
        if call.quota is not UNLIMITED:
            max_bytes = call.quota.fetch_limit(max_bytes)
        self.params = FetchParams(
            version,
            replica_id_of(request, version),
            request.isolation_level,
            max_bytes,
            min(request.min_bytes, max_bytes),
            call.access,
            request.rack_id if services.settings.replica_selector_class == RACK_AWARE else "",
        )

    def is_due(self, readings: Sequence[PartitionReading]) -> bool:
        """Whether the fetch is answered now: enough was read, or it does not wait."""
        if self._max_wait_ms <= 0 or not readings:
            return True
        size_bytes = 0
        for reading in readings:
            if reading.ends_wait:
                return True
            size_bytes += reading.slice.size_bytes
        return size_bytes >= self.params.min_bytes

    async def answer_many_partitions(self) -> FetchResponse:
        """Reads many partitions in turns, and answers at once or when there is enough."""
        self._call.has_many_items = True
        async with self._long_fetch_place():
            readings = await self._read()
            if self.is_due(readings):
                return await self.convert_and_answer(readings)
        waiting = self.wait_and_answer(readings)
        del readings
        return await waiting

    def wait_and_answer(self, readings: Sequence[PartitionReading]) -> Coroutine[Any, Any, FetchResponse]:
        """Returns a coroutine that waits for enough data, reads again and answers; `readings` are not kept."""
        return self._park_and_answer(DelayedFetch(self._services.cluster, readings, self.params))

    async def _park_and_answer(self, enough: DelayedFetch) -> FetchResponse:
        services, call, params = self._services, self._call, self.params
        parked = perf_counter()
        in_time = await services.fetch_purgatory.wait(enough.keys, enough, self._max_wait_ms, peer=call.peer)
        call.waited_s = perf_counter() - parked
        if not in_time:
            services.metrics.fetch_expirations.of("follower" if params.is_follower else "consumer").add()
        async with self._long_fetch_place():
            return await self.convert_and_answer(await self._read())

    def _long_fetch_place(self) -> AbstractAsyncContextManager[None]:
        """A context that holds one of the few places for fetches of many partitions, given in order of arrival."""
        return self._services.long_fetches if self._is_long else nullcontext()

    @property
    def _is_long(self) -> bool:
        return len(self._context.interests) > MOST_PARTITIONS_OF_SHORT_FETCH

    async def _read(self) -> list[PartitionReading]:
        return await read_all(
            self._services.cluster, self._context.interests, self.params, self._services.turns.begin()
        )

    async def convert_and_answer(self, readings: Sequence[PartitionReading]) -> FetchResponse:
        """Converts the slices to what this version's readers understand, and answers.

        INVALID_FETCH_SESSION_EPOCH if a later request of the same session has come meanwhile.
        """
        if self._context.is_overtaken:
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=self._context.session_id)
        turn = self._services.turns.begin()
        converted = await convert_readings(self._services, readings, self.params, self._call.peer.seen, turn)
        answers = []
        for at, reading in enumerate(readings):
            if self.params.reads_committed and may_have_many_aborted(reading):
                answers.append(await self._answer_partition_in_worker(reading, converted.get(at)))
            else:
                answers.append((reading.interest, partition_data(reading, converted.get(at), self.params)))
            await turn.next()
        return self._make_response(readings, answers)

    async def _answer_partition_in_worker(
        self, reading: PartitionReading, converted: SizedPiece | Refusal | None
    ) -> PartitionAnswer:
        """Runs `partition_data` in a worker thread; the response is encoded there too.

        Takes one of the few places for long fetches, since the aborted transactions of many fetches add up.
        """
        self._call.has_many_items = True
        async with nullcontext() if self._is_long else self._services.long_fetches:
            return reading.interest, await self._services.run_in_worker(partition_data, reading, converted, self.params)

    def answer(
        self, readings: Sequence[PartitionReading], converted: Mapping[int, SizedPiece | Refusal]
    ) -> FetchResponse:
        """The answer with what was read. `converted`: by index, what is answered instead."""
        answers = []
        for at, reading in enumerate(readings):
            answers.append((reading.interest, partition_data(reading, converted.get(at), self.params)))
        return self._make_response(readings, answers)

    def _make_response(self, readings: Sequence[PartitionReading], answers: list[PartitionAnswer]) -> FetchResponse:
        """The response; an empty one for a client above its quota."""
        if self._call.quota is not UNLIMITED and not self.params.is_follower:
            size_bytes = sum(reading.slice.size_bytes for reading in readings)
            if self._call.quota.count_fetch(size_bytes):
                return self._empty_response()
        _count_fetch(self._services, readings, answers, self.params)
        return response_of(self._context, answers, self._services.cluster, self._call.peer.listener)

    def _empty_response(self) -> FetchResponse:
        """A response without data; a session that it would begin is forgotten."""
        if self._context.is_incremental:
            return FetchResponse(session_id=self._context.session_id)
        self._services.sessions.forget(self._context.session_id)
        return FetchResponse()


def _count_fetch(
    services: "Services", readings: Sequence[PartitionReading], answers: Sequence[PartitionAnswer], params: FetchParams
) -> None:
    metrics = services.metrics
    is_follower = params.is_follower
    of_version = metrics.fetch_meters[params.version, is_follower]
    of_version.requests.value += 1
    topic = meter = None
    for reading, (_, data) in zip(readings, answers, strict=True):
        if reading.topic is None:
            continue
        if meter is None or reading.topic is not topic:
            topic, meter = reading.topic, metrics.topic_meters[reading.topic.name]
        meter.fetches.value += 1
        if not is_follower and data.records is not None:
            size_bytes = size_of(data.records)
            meter.bytes_out.value += size_bytes
            of_version.bytes.value += size_bytes
        if reading.error and reading.error not in EXPECTED_FAILURES:
            metrics.failed_fetch_requests.of(reading.topic.name).add()
