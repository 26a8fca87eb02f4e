"""The short way into open batches, compiled or not: what must be as on the long way, and when there is none."""

from typing import Any

import pytest
import stepdown.producer
from stepdown.producer import Producer, ProducerClosed, ProducerError, ProducerRecord, RecordMetadata, RecordTooLarge
from stepdown.producer import producer as sending
from stepdown.producer.accumulator import appender, producer_batch
from stepdown.producer.partitioners import built_in_partitioner
from stepdown.protocol.errors import ErrorCode
from support.producing import Stage, producing
from support.twin import load_twin


@pytest.fixture(params=["compiled", "twin"], autouse=True)
def way_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has each test run by the compiled modules and by their sources."""
    if request.param == "twin":
        twin: Any = load_twin("fast_send", stepdown.producer)
        for module, name in (
            (appender, "FastAppend"),
            (sending, "PendingRecord"),
            (built_in_partitioner, "StickyPartition"),
            (sending, "Delivery"),
            (sending, "encode_headers"),
        ):
            monkeypatch.setattr(module, name, getattr(twin, name))
        monkeypatch.setattr(producer_batch, "finish_all", load_twin("delivery", stepdown.producer).finish_all)
        monkeypatch.setattr(Producer, "send", twin_send(twin))


def twin_send(twin: Any) -> Any:
    send = twin.FastSend.__dict__["send"]

    def checked(self: Producer, topic: str, *given: Any, **named: Any) -> Any:
        return send(self, topic, *given, **named)

    return checked


def fast_topics(stage: Stage) -> list[str]:
    return list(stage.producer._appender.fast_appends)


async def test_a_short_way_opens_behind_the_first_record_of_a_known_topic() -> None:
    async with producing(linger_ms=5) as stage:
        stage.producer.send("t", b"0")
        assert fast_topics(stage) == []
        await stage.advance()
        stage.producer.send("t", b"1")
        assert fast_topics(stage) == ["t"]


async def test_records_of_the_short_way_and_of_the_long_way_lie_in_order_in_the_same_batches() -> None:
    async with producing(linger_ms=5, batch_size=300, max_in_flight_requests_per_connection=1) as stage:
        told: list[int] = []

        def note(metadata: RecordMetadata, error: object) -> None:
            told.append(metadata.offset)

        sent = []
        for number in range(40):
            if number == 1:
                await stage.advance()
            headers = [("h", b"1")] if number % 7 == 0 else ()
            sent.append(stage.producer.send("t", b"%d" % number, headers=headers, callback=note))
        while asked := await stage.produced(5):
            asked[0].answer()
        assert stage.cluster.log["t", 0] == [b"%d" % number for number in range(40)]
        assert [(await delivery).offset for delivery in sent] == list(range(40)) == told


async def test_the_short_way_ends_behind_those_who_wait_for_memory() -> None:
    async with producing(linger_ms=5, batch_size=100, buffer_memory=300) as stage:
        stage.producer.send("t", b"0")
        await stage.advance()
        sent = [stage.producer.send("t", b"x" * 30 + b"%d" % number) for number in range(6)]
        assert fast_topics(stage) == ["t"] and sent[-1].batch is None
        sent.append(stage.producer.send("t", b""))
        assert sent[-1].batch is None
        while asked := await stage.produced(5):
            asked[0].answer()
        assert [(await delivery).offset for delivery in sent] == list(range(1, 8))


async def test_no_short_way_passes_those_who_wait_for_a_partition() -> None:
    async with producing(linger_ms=5) as stage:
        stage.producer.send("t", b"0")
        await stage.advance()
        stage.producer.send("t", b"1")
        stage.producer.send("t", b"2", partition=7)
        assert fast_topics(stage) == []


async def test_a_short_way_is_renewed_when_metadata_changed() -> None:
    async with producing(linger_ms=5) as stage:
        stage.producer.send("t", b"0")
        await stage.advance()
        stage.producer.send("t", b"1")
        before = stage.producer._appender.fast_appends["t"]
        [asked] = await stage.produced(5)
        asked.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await stage.advance(200)
        assert not before.is_current
        delivery = stage.producer.send("t", b"2")
        assert stage.producer._appender.fast_appends["t"] is not before
        while open_now := await stage.produced(5):
            open_now[0].answer()
        assert (await delivery).offset == 2


async def test_a_batch_that_the_short_way_fills_does_not_linger() -> None:
    async with producing(linger_ms=1000, batch_size=105) as stage:
        stage.producer.send("t", b"x" * 40)
        [first] = await stage.produced(1000)
        first.answer()
        # 61 bytes of header, and 7 of each record beside its value.
        stage.producer.send("t", b"")
        assert fast_topics(stage) == ["t"]
        assert await stage.produced() == []
        stage.producer.send("t", b"x" * 30)
        [asked] = await stage.produced()
        assert asked.values() == [b"", b"x" * 30]


async def test_the_short_way_too_refuses_when_closed_and_what_is_too_large() -> None:
    async with producing(linger_ms=5, batch_size=100, max_request_size=200) as stage:
        stage.producer.send("t", b"0")
        await stage.advance()
        stage.producer.send("t", b"1")
        assert fast_topics(stage) == ["t"]
        with pytest.raises(RecordTooLarge):
            await stage.producer.send("t", b"x" * 150)
        await stage.producer.close(0)
        with pytest.raises(ProducerClosed):
            stage.producer.send("t", b"2")


class Passing:
    """An interceptor that changes nothing."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None:
        pass


@pytest.mark.parametrize(
    "settings",
    [
        {"partitioner": "sticky"},
        {"batch_size": 200, "max_request_size": 210},
        {"interceptors": [Passing()]},
    ],
    ids=["a partitioner", "batches as large as the largest record", "an interceptor"],
)
async def test_no_short_way_leaves_out_what_has_to_be_asked(settings: dict[str, object]) -> None:
    async with producing(linger_ms=5, **settings) as stage:
        stage.producer.send("t", b"0")
        await stage.advance()
        stage.producer.send("t", b"1")
        assert not stage.producer._fast_appends


async def test_the_short_way_refuses_what_is_too_large_while_others_wait_for_memory() -> None:
    async with producing(linger_ms=5, batch_size=100, buffer_memory=300, max_request_size=250) as stage:
        stage.producer.send("t", b"0")
        await stage.advance()
        sent = [stage.producer.send("t", b"x" * 30) for _ in range(6)]
        assert fast_topics(stage) == ["t"] and sent[-1].batch is None
        with pytest.raises(RecordTooLarge):
            await stage.producer.send("t", b"x" * 200)
        while asked := await stage.produced(5):
            asked[0].answer()
        assert [(await delivery).offset for delivery in sent] == list(range(1, 7))


async def test_those_who_waited_for_memory_go_on_in_order_whatever_they_are() -> None:
    async with producing(linger_ms=5, batch_size=200, buffer_memory=500) as stage:
        stage.cluster.topics["u"] = 1
        for topic in ("t", "u"):
            stage.producer.send(topic, b"")
        await stage.advance()
        for number in range(60):
            topic = "u" if number % 5 == 4 else "t"
            key = b"k" if number % 7 == 3 else None
            stage.producer.send(topic, b"x" * 30 + b"%d" % number, key=key, partition=0 if number % 11 == 5 else None)
        while asked := await stage.produced(5):
            for one in asked:
                one.answer()
        for topic, mine in (("t", lambda n: n % 5 != 4), ("u", lambda n: n % 5 == 4)):
            assert stage.cluster.log[topic, 0] == [b"", *(b"x" * 30 + b"%d" % n for n in range(60) if mine(n))]


async def test_a_topic_is_in_use_while_records_go_by_its_short_way() -> None:
    async with producing(linger_ms=60_000) as stage:
        for _ in range(5):
            await stage.advance(10)
            stage.producer.send("t", b"v")
            assert stage.producer._metadata.used["t"] == stage.producer._clock.now_ms()


async def test_who_waits_for_memory_with_a_partition_of_its_own_gets_there() -> None:
    async with producing(lambda c: c.topics.update(t=2), linger_ms=5, batch_size=200, buffer_memory=400) as stage:
        stage.producer.send("t", b"0")
        await stage.advance()
        sent = [stage.producer.send("t", b"x" * 20, partition=at) for at in [None, 0, 1, None] * 8]
        while asked := await stage.produced(5):
            asked[0].answer()
        assert [(await delivery).partition for delivery in sent[1::4]] == [0] * 8
        assert [(await delivery).partition for delivery in sent[2::4]] == [1] * 8
