"""send, the accumulator, memory, retries, flush and close, on a clock moved by hand."""

import asyncio
from enum import StrEnum
from itertools import pairwise
from typing import Any

import pytest
from stepdown.producer import (
    BufferExhausted,
    Delivery,
    ProducerClosed,
    ProducerError,
    ProducerRecord,
    RecordMetadata,
    RecordTooLarge,
    Serialization,
)
from stepdown.producer.backoff import Backoff
from stepdown.producer.errors import INVALID_METADATA
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
)
from stepdown.protocol.records.batch import RecordBatch
from support.producing import Cluster, producing


def topics(count: int, nodes: int = 1) -> Any:
    def setup(cluster: Cluster) -> None:
        cluster.topics["t"], cluster.nodes = count, nodes

    return setup


async def test_the_metadata_of_a_record_tells_where_it_went() -> None:
    async with producing() as stage:
        delivery = stage.producer.send("t", b"value", key=b"k", timestamp=123)
        [asked] = await stage.produced()
        asked.answer()
        wanted = RecordMetadata(
            topic="t", partition=0, offset=0, timestamp=123, serialized_key_size=1, serialized_value_size=5
        )
        assert await delivery == wanted


async def test_log_append_time_replaces_the_timestamp() -> None:
    async with producing() as stage:
        delivery = stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        asked.answer(log_append_time_ms=777)
        assert (await delivery).timestamp == 777


async def test_acks_0_ends_without_an_answer_at_offset_minus_1() -> None:
    async with producing(acks=0) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance()
        assert (await delivery).offset == -1


async def test_negative_partitions_and_timestamps_are_the_callers_fault() -> None:
    async with producing() as stage:
        for wrong in ({"partition": -1}, {"timestamp": -5}, {"timestamp": 2**63}):
            with pytest.raises(ValueError, match=r"negative|63 bits"):
                stage.producer.send("t", b"v", **wrong)


@pytest.mark.parametrize("limit", ["max_request_size", "buffer_memory"])
async def test_a_record_too_large_fails_its_delivery_before_any_compression(limit: str) -> None:
    told: list[Any] = []
    async with producing(**{limit: 2000}, compression="gzip", batch_size=100) as stage:
        delivery = stage.producer.send("t", b"x" * 3000, callback=lambda m, e: told.append((m.offset, e)))
        assert delivery.done() and told[0][0] == -1 and isinstance(told[0][1], RecordTooLarge)
        with pytest.raises(RecordTooLarge, match=limit.replace("_", ".")):
            await delivery
        # No key, a length of two bytes, no headers.
        exact = stage.producer.send("t", b"x" * (2000 - 61 - 21 - 1 - 2 - 1))
        assert not exact.done()


async def test_what_is_no_bytes_raises_unless_a_serializer_makes_bytes_of_it() -> None:
    async with producing() as stage:
        with pytest.raises(Serialization, match="the value of a record for t is str"):
            stage.producer.send("t", "text")
    async with producing(value_serializer=lambda topic, value, headers: value.encode()) as stage:
        stage.producer.send("t", "text")
        [asked] = await stage.produced()
        assert asked.values() == [b"text"]
        with pytest.raises(Serialization, match="cannot be serialized"):
            stage.producer.send("t", 5)
    async with producing(value_serializer=lambda topic, value, headers: value) as stage:
        stage.producer.send("t", memoryview(b"view"))
        with pytest.raises(Serialization, match="the value of a record for t is str"):
            stage.producer.send("t", "text")
        [asked] = await stage.produced()
        assert asked.values() == [b"view"]


async def test_a_node_gets_one_batch_of_each_partition_in_one_request() -> None:
    async with producing(topics(3), batch_size=100) as stage:
        for partition in (0, 1, 2, 0, 1):
            stage.producer.send("t", b"x" * 90, partition=partition)
        first, second = await stage.produced()
        assert sorted(first.batches) == [("t", 0), ("t", 1), ("t", 2)]
        assert sorted(second.batches) == [("t", 0), ("t", 1)]


async def test_a_request_stays_below_its_size_and_the_next_goes_on_where_it_stopped() -> None:
    async with producing(topics(3), batch_size=1000, max_request_size=2200) as stage:
        for partition in range(3):
            stage.producer.send("t", b"x" * 800, partition=partition)
        first, second = await stage.produced()
        assert (len(first.batches), len(second.batches)) == (2, 1)
        assert sorted([*first.batches, *second.batches]) == [("t", 0), ("t", 1), ("t", 2)]


async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    async with producing(batch_size=100, max_in_flight_requests_per_connection=3) as stage:
        for _ in range(6):
            stage.producer.send("t", b"x" * 90)
        requests = await stage.produced()
        assert len(requests) == 3
        requests[0].answer()
        assert len(await stage.produced()) == 3


async def test_memory_is_waited_for_in_line_and_given_back() -> None:
    async with producing(batch_size=1000, buffer_memory=2000, linger_ms=10**6) as stage:
        values = [b"%d" % i * 900 for i in range(5)]
        deliveries = [stage.producer.send("t", value) for value in values]
        small = stage.producer.send("t", b"small")
        requests = await stage.produced()
        assert [d.batch is not None for d in [*deliveries, small]] == [True, True, False, False, False, False]
        assert stage.producer.metrics()["buffer-available-bytes"] == 0
        while requests:
            requests[0].answer()
            requests = await stage.produced()
        flushed = asyncio.ensure_future(stage.producer.flush())
        for asked in await stage.produced():
            asked.answer()
        await flushed
        assert stage.cluster.log["t", 0] == [*values, b"small"]


async def test_memory_that_stays_full_ends_a_send_after_max_block() -> None:
    async with producing(batch_size=1000, buffer_memory=1000, max_block_ms=300) as stage:
        stage.producer.send("t", b"x" * 900)
        await stage.advance()
        delivery = stage.producer.send("t", b"y" * 900)
        await stage.advance(299)
        assert not delivery.done()
        await stage.advance(1)
        with pytest.raises(BufferExhausted, match=r"buffer\.memory is 1000"):
            await delivery
        assert stage.producer.metrics()["buffer-exhausted-total"] == 1


async def test_the_longest_max_block_waits_for_ever() -> None:
    async with producing(batch_size=100, buffer_memory=300, linger_ms=5, max_block_ms=2**63 - 1) as stage:
        sent = [stage.producer.send("t", b"0")]
        await stage.advance()
        sent += [stage.producer.send("t", b"x" * 30) for _ in range(9)]
        await stage.advance(20_000)
        assert not sent[-1].done() and sent[-1].batch is None
        while asked := await stage.produced(5):
            asked[0].answer()
        assert [(await delivery).offset for delivery in sent] == list(range(10))


async def test_who_waited_for_metadata_first_waits_no_longer_for_memory_than_the_rest_of_max_block() -> None:
    async with producing(batch_size=100, buffer_memory=200, max_block_ms=1000, retry_backoff_max_ms=100) as stage:
        stage.producer.send("t", b"x" * 20)
        await stage.advance(10)
        early = stage.producer.send("new", b"early", key=b"k")
        await stage.advance(790)
        behind = [stage.producer.send("t", b"y" * 60) for _ in range(4)]
        stage.cluster.topics["new"] = 1
        await stage.advance(150)
        assert not early.done()
        await stage.advance(60)
        with pytest.raises(BufferExhausted):
            await early
        assert not behind[-1].done()


async def test_a_topic_that_is_gone_keeps_no_other_from_memory() -> None:
    async with producing(
        lambda cluster: cluster.topics.update(u=1), batch_size=100, buffer_memory=200, linger_ms=0
    ) as stage:
        for topic in "tu":
            stage.producer.send(topic, b"")
        await stage.advance(1)
        for asked in stage.cluster.open:
            asked.answer()
        held = [stage.producer.send("t", b"y" * 60) for _ in range(2)]
        gone, behind = stage.producer.send("u", b"y" * 60), stage.producer.send("t", b"z" * 60)
        del stage.cluster.topics["u"]
        stage.producer._metadata.request_update()
        await stage.advance(1000)
        for asked in list(stage.cluster.open):
            asked.answer()
        while not behind.done():
            for asked in await stage.produced():
                asked.answer()
        assert all(delivery.done() for delivery in held) and not gone.done()


async def test_a_partition_that_comes_late_is_asked_for_again_and_takes_records_in_order() -> None:
    async with producing(linger_ms=5) as stage:
        stage.producer.send("t", b"x")
        await stage.advance(5)
        first = stage.producer.send("t", b"first", partition=1)
        second: list[Delivery] = []

        async def send_as_soon_as_it_is_there() -> None:
            while stage.producer._metadata.topics["t"].view.partitions < 2:  # noqa: ASYNC110  (in that very turn)
                await asyncio.sleep(0)
            second.append(stage.producer.send("t", b"second", partition=1))

        await stage.advance(1000)  # an answer without it has come
        sending = asyncio.create_task(send_as_soon_as_it_is_there())
        stage.cluster.topics["t"] = 2
        while not second or not second[0].done():
            await stage.advance(50)
            for asked in list(stage.cluster.open):
                asked.answer()
        await sending
        assert first.done() and stage.cluster.log["t", 1] == [b"first", b"second"]


def test_backoff_doubles_with_a_fifth_of_jitter_up_to_its_maximum() -> None:
    backoff = Backoff(initial_ms=100, max_ms=1000)
    for failures, middle in ((1, 100), (2, 200), (3, 400)):
        drawn = [backoff.delay_ms(failures) for _ in range(200)]
        assert middle * 0.8 - 1 <= min(drawn) < max(drawn) <= middle * 1.2
    assert max(backoff.delay_ms(30) for _ in range(100)) == 1000
    assert {Backoff(initial_ms=100, max_ms=100).delay_ms(n) for n in range(1, 9)} == {100}


@pytest.mark.parametrize("code", [code for code in ErrorCode if code.retriable], ids=lambda code: code.name)
async def test_retriable_answers_are_sent_again(code: ErrorCode) -> None:
    async with producing() as stage:
        delivery = stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        asked.answer(code)
        [again] = await stage.produced(500)
        again.answer()
        assert (await delivery).offset == 0
        assert stage.producer.metrics()["record-retry-total"] == 1


# What counts as written.
TAKEN = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


def test_the_retriable_codes_are_kafkas() -> None:
    retriable = {2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84, 88, 89}
    assert {int(code) for code in ErrorCode if code.retriable} == retriable | {100, 103, 106, 122, 123}
    assert set(map(int, INVALID_METADATA)) == {3, 5, 6, 9, 13, 56, 72, 74, 80, 83, 84, 100, 103}


@pytest.mark.parametrize(
    "code", [code for code in ErrorCode if not code.retriable and code not in TAKEN], ids=lambda code: code.name
)
async def test_other_answers_fail_at_once(code: ErrorCode) -> None:
    async with producing() as stage:
        delivery = stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        asked.answer(code)
        assert await stage.produced(5000) == []
        with pytest.raises(ProducerError) as caught:
            await delivery
        assert caught.value.code == code


async def test_retries_are_counted() -> None:
    async with producing(retries=2) as stage:
        delivery = stage.producer.send("t", b"v")
        for _ in range(3):
            [asked] = await stage.produced(2000)
            asked.drop()
        assert await stage.produced(2000) == []
        with pytest.raises(ProducerError, match="NETWORK_EXCEPTION"):
            await delivery


async def test_invalid_metadata_answers_ask_for_metadata() -> None:
    async with producing() as stage:
        stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        before = len(stage.cluster.metadata_asked)
        asked.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await stage.advance(500)
        assert len(stage.cluster.metadata_asked) > before


async def test_a_newer_leader_in_the_answer_is_used_at_once_without_backoff() -> None:
    async with producing(topics(1, nodes=2), retry_backoff_ms=5000, retry_backoff_max_ms=5000) as stage:
        stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        stage.cluster.leaders["t", 0], stage.cluster.epochs["t", 0] = 1, 1
        leader = LeaderIdAndEpoch(leader_id=1, leader_epoch=1)
        asked.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=leader)
        [again] = await stage.produced(1)
        assert again.node_id == 1


async def test_an_older_leader_epoch_is_ignored() -> None:
    async with producing(topics(1, nodes=2)) as stage:
        stage.cluster.epochs["t", 0] = 5
        stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        stage.cluster.leaders["t", 0], stage.cluster.epochs["t", 0] = 1, 4
        asked.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        [again] = await stage.produced(1000)
        assert again.node_id == 0


async def test_record_errors_tell_the_records_apart() -> None:
    async with producing(linger_ms=5) as stage:
        deliveries = [stage.producer.send("t", b"%d" % i) for i in range(3)]
        [asked] = await stage.produced(5)
        failed = [BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="too old")]
        asked.answer(ErrorCode.INVALID_TIMESTAMP, record_errors=failed)
        await stage.advance()
        with pytest.raises(ProducerError, match="too old") as caught:
            await deliveries[1]
        assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
        with pytest.raises(ProducerError, match="part of a batch"):
            await deliveries[0]


async def test_several_record_errors_are_invalid_records() -> None:
    async with producing(linger_ms=5) as stage:
        deliveries = [stage.producer.send("t", b"%d" % i) for i in range(2)]
        [asked] = await stage.produced(5)
        asked.answer(
            ErrorCode.INVALID_TIMESTAMP, record_errors=[BatchIndexAndErrorMessage(batch_index=i) for i in range(2)]
        )
        await stage.advance()
        assert [getattr(d.error(), "code", None) for d in deliveries] == [ErrorCode.INVALID_RECORD] * 2


async def test_forbidden_topics_surface_at_once_and_unknown_ones_are_waited_for() -> None:
    async with producing() as stage:
        metadata = stage.producer._metadata
        delivery = stage.producer.send("secret", b"v")
        metadata.failed["secret"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        stage.producer._appender.append_waiting(stage.clock.now)
        with pytest.raises(ProducerError, match="TOPIC_AUTHORIZATION_FAILED"):
            await delivery
        later = stage.producer.send("later", b"v")
        await stage.advance(500)
        stage.cluster.topics["later"] = 1
        [asked] = await stage.produced(3000)
        asked.answer()
        assert (await later).topic == "later"


@pytest.mark.parametrize("why", ["forbidden", "unknown", "fault", "memory"])
async def test_a_callback_that_sends_again_waits_for_its_own_end(why: str) -> None:
    """The loop stood still as long as it did so; after a fault such a record had no end."""
    async with producing(batch_size=300, buffer_memory=300, linger_ms=60_000) as stage:
        stage.producer.send("t", b"v" * 100)
        await stage.advance()
        stage.producer._appender._max_block_ms = 0
        sent: list[Delivery] = []
        passes: list[int] = []
        sender, run_once = stage.producer._sender, stage.producer._sender.run_once

        def send(metadata: RecordMetadata | None = None, error: ProducerError | None = None) -> None:
            if len(sent) < 9:
                topic = {"memory": "t", "fault": f"u{len(sent)}"}.get(why, "u")
                sent.append(stage.producer.send(topic, b"v" * 200, callback=send))

        def counted(now_ms: int) -> int:
            wait_ms = run_once(now_ms)
            passes.append(len(sent))
            return wait_ms

        send()
        sender.run_once = counted  # type: ignore[method-assign]
        if why == "forbidden":
            stage.producer._metadata.failed["u"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if why == "fault":
            stage.cluster.fault = ProducerError("no")
        for _ in range(20):
            stage.producer._wakeup.schedule_pass()
            await stage.advance()
        assert [delivery.done() for delivery in sent] == [True] * 9
        assert all(later - before <= 2 for before, later in pairwise([1, *passes]))


async def test_a_new_topic_is_asked_for_alone_and_an_idle_one_is_forgotten() -> None:
    async with producing(metadata_max_idle_ms=5000, metadata_max_age_ms=6000) as stage:
        stage.cluster.topics["u"] = 1
        stage.producer.send("t", b"v")
        await stage.advance()
        stage.producer.send("u", b"v")
        await stage.advance()
        assert stage.cluster.metadata_asked[-1] == ["u"]
        await stage.advance(7000)
        assert stage.cluster.metadata_asked[-1] == []


@pytest.mark.parametrize("known", [True, False], ids=["a batch is queued", "a record is in line"])
async def test_a_topic_is_not_forgotten_while_records_wait_for_a_broker_or_for_the_topic(known: bool) -> None:
    """After an outage longer than `metadata.max.idle.ms` nobody asked for it, and what was left of it expired."""
    async with producing(metadata_max_idle_ms=5000, metadata_max_age_ms=3000) as stage:
        if known:
            stage.producer.send("t", b"before")
            [asked] = await stage.produced()
            asked.answer()
            stage.cluster.unready.add(0)
        else:
            del stage.cluster.topics["t"]
        delivery = stage.producer.send("t", b"v")
        for _ in range(10):
            await stage.advance(1000)
        stage.cluster.unready.clear()
        stage.cluster.topics["t"] = 1
        stage.producer._wakeup.schedule_pass()
        [asked] = await stage.produced(2000)
        asked.answer()
        assert (await delivery).offset == known


class Watching:
    """An interceptor that stamps and remembers."""

    def __init__(self, log: list[str], *, broken: bool = False) -> None:
        self.log, self.broken = log, broken

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        if self.broken:
            raise RuntimeError("broken")
        return ProducerRecord(record.topic, record.value + b"!", key=record.key)

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        self.log.append("interceptor")


@pytest.mark.parametrize("fault", [KeyError, asyncio.CancelledError], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("by", ["callback", "interceptor"])
async def test_whatever_a_callback_raises_the_records_behind_it_are_told(by: str, fault: type[BaseException]) -> None:
    told, heard = [], []

    def fail(metadata: RecordMetadata, error: object) -> None:
        told.append(metadata.offset)
        raise fault

    class Interceptor:
        def on_send(self, record: ProducerRecord) -> ProducerRecord:
            return record

        on_acknowledgement = staticmethod(fail)

    asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context["message"]))
    async with producing(linger_ms=5, interceptors=[Interceptor()] if by == "interceptor" else []) as stage:
        sent = [stage.producer.send("t", b"v", callback=fail if by == "callback" else None) for _ in range(3)]
        [asked] = await stage.produced(5)
        asked.answer()
        assert [(await delivery).offset for delivery in sent] == [0, 1, 2] == told
        again = stage.producer.send("t", b"v")
        [asked] = await stage.produced(5)
        asked.answer()
        assert (await again).offset == 3
    assert heard[:3] == ["a callback for t-0 failed"] * 3


class Topic(StrEnum):
    ORDERS = "t"


class Named(str):
    __slots__ = ()


async def test_names_of_topics_and_headers_may_be_members_of_an_enum_or_texts_of_another_class() -> None:
    async with producing(linger_ms=5) as stage:
        sent = [stage.producer.send(topic, b"v", headers=[(topic, b"")]) for topic in (Topic.ORDERS, "t")]
        await stage.advance()
        sent.append(stage.producer.send(Named("t"), b"v", partition=0, headers={Named("t"): b""}))
        [asked] = await stage.produced(5)
        headers = [list(record.headers) for record in asked.batches["t", 0].records()]
        assert headers == [[("t", b"")]] * 3
        asked.answer()
        assert [repr((await delivery).topic) for delivery in sent] == ["'t'"] * 3
        assert await stage.producer.partitions_for(Topic.ORDERS) == {0}
        assert stage.cluster.metadata_asked == [[], ["t"]]


async def test_interceptors_come_in_order_and_before_callbacks_and_may_break() -> None:
    log: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: log.append(context["message"]))
    async with producing(interceptors=[Watching(log), Watching(log, broken=True), Watching(log)]) as stage:
        stage.producer.send("t", b"v", callback=lambda m, e: log.append("callback"))
        [asked] = await stage.produced()
        assert asked.values() == [b"v!!"]
        asked.answer()
        await stage.advance()
    assert log == ["an interceptor failed on a record for t", "interceptor", "interceptor", "interceptor", "callback"]


async def test_a_flush_sends_what_lingers_and_waits_for_it() -> None:
    async with producing(linger_ms=10**6) as stage:
        stage.producer.send("t", b"v")
        assert await stage.produced(1000) == []
        flushed = asyncio.ensure_future(stage.producer.flush())
        [asked] = await stage.produced()
        assert not flushed.done()
        asked.answer()
        await stage.advance()
        assert flushed.done()


async def test_closing_sends_what_is_left_and_takes_no_more() -> None:
    async with producing(linger_ms=10**6) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance()
        closing = asyncio.ensure_future(stage.producer.close())
        [asked] = await stage.produced()
        with pytest.raises(ProducerClosed):
            stage.producer.send("t", b"w")
        asked.answer()
        await stage.advance()
        assert closing.done() and (await delivery).offset == 0


@pytest.mark.parametrize("timeout_ms", [0, 100])
async def test_closing_with_a_timeout_fails_the_rest(timeout_ms: int) -> None:
    async with producing() as stage:
        waiting, unknown = stage.producer.send("t", b"v"), stage.producer.send("absent", b"v")
        await stage.advance()
        closing = asyncio.ensure_future(stage.producer.close(timeout_ms))
        await stage.advance(timeout_ms)
        assert closing.done()
        for delivery in (waiting, unknown):
            with pytest.raises(ProducerClosed):
                await delivery


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 2), (11, 2)])
async def test_the_format_follows_the_brokers_version_of_produce(version: int, magic: int) -> None:
    async with producing(lambda c: c.spoken.update({0: (0, version)})) as stage:
        stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        [batch] = asked.batches.values()
        assert (asked.version, batch.magic) == (version, magic)


@pytest.mark.parametrize(
    ("settings", "headers", "version"),
    [({"compression": "zstd"}, (), 6), ({}, [("h", b"1")], 2)],
    ids=["zstd before v7", "headers before v3"],
)
async def test_what_an_old_broker_cannot_have_fails(settings: Any, headers: Any, version: int) -> None:
    async with producing(lambda c: c.spoken.update({0: (0, version)}), **settings) as stage:
        delivery = stage.producer.send("t", b"v", headers=headers)
        await stage.advance(10)
        with pytest.raises(ProducerError) as caught:
            await delivery
        assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


async def test_records_in_a_batch_share_its_header() -> None:
    async with producing(linger_ms=5) as stage:
        for timestamp in (50, 70, 60):
            stage.producer.send("t", b"v", timestamp=timestamp)
        [asked] = await stage.produced(5)
        [batch] = asked.batches.values()
        assert isinstance(batch, RecordBatch)
        batch.ensure_valid()
        assert (batch.base_timestamp, batch.max_timestamp, batch.record_count, batch.base_offset) == (50, 70, 3, 0)


async def test_metrics_carry_kafkas_names() -> None:
    async with producing(linger_ms=5) as stage:
        for _ in range(10):
            stage.producer.send("t", b"x" * 100)
        [asked] = await stage.produced(5)
        asked.answer()
        await stage.advance()
        metrics = stage.producer.metrics()
        assert metrics["record-send-total"] == 10 and metrics["records-per-request-avg"] == 10
        assert metrics["batch-size-avg"] > 1000 and metrics["record-size-max"] == 186
        assert metrics["record-send-rate"] == pytest.approx(10 / 30)
        assert stage.producer.topic_metrics()["t"]["record-send-total"] == 10
