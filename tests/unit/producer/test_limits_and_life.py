"""What an application may ask of a producer's memory, life, threads and results, and what it is told."""

import asyncio
import ssl
import threading
from contextlib import suppress
from typing import Any

import pytest
from stepdown.client.security.settings import KEYS as SECURITY_KEYS
from stepdown.config import ConfigError
from stepdown.producer import BufferExhausted, Delivery, Producer, ProducerClosed, Serialization, Timeout, WrongState
from stepdown.producer.accumulator.buffer_memory import QUEUE_BYTES
from stepdown.producer.errors import ProducerError, RecordTooLarge
from stepdown.producer.settings import KEYS, SHORT_NAMES
from stepdown.producer.settings_typed_dict import Settings
from stepdown.protocol.errors import ErrorCode
from support.deadline import DEADLINE_S
from support.producing import Stage, producing

# --- memory -----------------------------------------------------------------------------------------------------------


async def answer_all(stage: Stage) -> None:
    while asked := await stage.produced():
        for one in asked:
            one.answer()


@pytest.mark.parametrize("known", [True, False], ids=["memory is full", "the topic is not known"])
async def test_sends_that_nobody_awaits_are_bounded_and_those_taken_arrive(known: bool) -> None:
    async with producing(batch_size=1000, buffer_memory=100_000) as stage:
        if known:
            first = stage.producer.send("t", b"0")
            await answer_all(stage)
            await first
        taken: list[Delivery] = []
        with pytest.raises(BufferExhausted, match=r"buffer\.memory is 100000"):
            taken.extend(stage.producer.send("t", b"x" * 900) for _ in range(1_000_000))
        held = sum(len(delivery.topic) + 900 for delivery in taken)
        assert held <= 100_000 + QUEUE_BYTES + 2000
        metrics = stage.producer.metrics()
        assert metrics["buffer-exhausted-total"] == metrics["record-error-total"] == 1
        await answer_all(stage)
        offsets = [(await delivery).offset for delivery in taken]
        assert offsets == list(range(known, len(taken) + known))
        assert stage.producer._memory.queued_bytes == 0 == stage.producer._memory.waiting


async def test_who_sends_and_waits_is_held_back_until_one_may_stand_in_line() -> None:
    async with producing(batch_size=1000, buffer_memory=2000) as stage:
        with pytest.raises(BufferExhausted):
            while True:
                stage.producer.send("t", b"x" * 900)
        waits = asyncio.ensure_future(stage.producer.send_and_wait("t", b"last"))
        await stage.advance()
        assert not waits.done()
        await answer_all(stage)
        assert (await waits).offset > 100


# --- life -------------------------------------------------------------------------------------------------------------


async def test_a_producer_that_was_closed_before_it_was_started_does_not_start() -> None:
    producer = Producer("127.0.0.1:1")
    await producer.close()
    with pytest.raises(WrongState, match="started once"):
        await producer.start()


async def test_it_closes_once_and_who_closes_again_waits_for_that_end() -> None:
    async with producing() as stage:
        sent = stage.producer.send("t", b"v")
        closes = [asyncio.ensure_future(stage.producer.close()) for _ in range(2)]
        [asked] = await stage.produced()
        assert not any(close.done() for close in closes)
        asked.answer()
        await stage.advance()
        await asyncio.gather(*closes)
        assert (await sent).offset == 0
        with pytest.raises(ProducerClosed):
            stage.producer.send("t", b"v")


async def test_a_flush_ends_in_time_and_leaves_records_on_their_way() -> None:
    async with producing() as stage:
        sent = stage.producer.send("t", b"v")
        flush = asyncio.ensure_future(stage.producer.flush(timeout_ms=100))
        [asked] = await stage.produced()
        await stage.advance(101)
        with pytest.raises(Timeout, match="flush did not end within 100 ms"):
            await flush
        asked.answer()
        assert (await sent).offset == 0
        await stage.producer.flush(timeout_ms=100)


async def test_another_thread_is_told_so_on_the_short_way_and_on_the_long_one() -> None:
    async with producing(linger_ms=5) as stage:
        for value in (b"0", b"1"):
            stage.producer.send("t", value)
            await stage.advance()
        assert stage.producer._fast_appends
        for topic in ("t", "u"):
            told: list[Exception] = []

            def send(topic: str = topic, told: list[Exception] = told) -> None:
                try:
                    stage.producer.send(topic, b"v")
                except Exception as error:
                    told.append(error)

            thread = threading.Thread(target=send)
            thread.start()
            thread.join()
            assert isinstance(told[0], WrongState) and "call_soon_threadsafe" in str(told[0])


async def test_another_event_loop_is_told_so() -> None:
    async with producing() as stage:
        told: list[BaseException] = []

        def other() -> None:
            for call in (stage.producer.flush, lambda: stage.producer.partitions_for("t"), stage.producer.close):
                try:
                    asyncio.run(call())  # type: ignore[arg-type]
                except Exception as error:
                    told.append(error)

        await asyncio.to_thread(other)
        assert [type(error) for error in told] == [WrongState] * 3


async def test_a_transaction_is_refused_before_the_start_and_in_another_event_loop() -> None:
    """It was waited for until `max.block.ms` was over, and had to be called again then."""
    producer = Producer("127.0.0.1:1", transactional_id="tx")
    with pytest.raises(WrongState, match="has not been started"):
        await producer.init_transactions()
    with pytest.raises(WrongState, match="has not been started"):
        producer.begin_transaction()
    async with producer:
        for call in (lambda: asyncio.run(producer.init_transactions()), producer.begin_transaction):
            with pytest.raises(WrongState, match="from the thread that started it"):
                await asyncio.to_thread(call)


async def test_partitions_are_told_and_a_topic_that_is_not_there_times_out() -> None:
    async with producing(lambda cluster: cluster.topics.update(t=3), max_block_ms=500) as stage:
        asks = [asyncio.ensure_future(stage.producer.partitions_for(topic)) for topic in ("t", "none")]
        for _ in range(8):
            await stage.advance(100)
        assert await asks[0] == {0, 1, 2}
        with pytest.raises(Timeout, match="topic none is not in the metadata"):
            await asks[1]


# --- results ----------------------------------------------------------------------------------------------------------


async def test_a_delivery_is_a_future_for_the_tools_of_asyncio() -> None:
    async with producing(batch_size=1) as stage:
        sent = [stage.producer.send("t", b"%d" % number) for number in range(6)]
        assert all(map(asyncio.isfuture, sent))
        called: list[int] = []
        sent[0].add_done_callback(lambda delivery: called.append(delivery.result().offset))
        sent[0].add_done_callback(called.append)  # type: ignore[arg-type]
        assert sent[0].remove_done_callback(called.append) == 1  # type: ignore[arg-type]
        waits = [
            asyncio.ensure_future(each)
            for each in (
                asyncio.wait([asyncio.ensure_future(sent[1])]),
                asyncio.wait_for(sent[2], DEADLINE_S),
                asyncio.gather(sent[3], asyncio.shield(sent[4])),
            )
        ]
        first = next(asyncio.as_completed([sent[5]]))
        with pytest.raises(asyncio.InvalidStateError):
            sent[0].result()
        await answer_all(stage)
        done, open_ones = await waits[0]
        assert {each.result().offset for each in done} == {1} and not open_ones
        assert (await waits[1]).offset == 2
        assert [metadata.offset for metadata in await waits[2]] == [3, 4]
        assert (await first).offset == 5
        assert called == [0] and sent[0].exception() is None


async def test_who_cancels_a_delivery_hears_no_more_and_the_record_goes_its_way() -> None:
    async with producing() as stage:
        told: list[int] = []
        sent = stage.producer.send("t", b"v", callback=lambda metadata, error: told.append(metadata.offset))
        group = asyncio.gather(sent)
        await stage.advance()
        group.cancel()
        with pytest.raises(asyncio.CancelledError):
            await group
        assert sent.cancelled() and sent.done() and not sent.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sent
        await answer_all(stage)
        assert told == [0] and stage.cluster.log["t", 0] == [b"v"]


@pytest.mark.parametrize("call", ["flush", "close"])
async def test_a_flush_and_a_close_wait_for_a_cancelled_delivery_that_is_in_line_too(call: str) -> None:
    """A flush left it out, as if it had its place, and a close kept the loop from going on."""
    async with producing(lambda cluster: cluster.topics.clear()) as stage:
        sent = stage.producer.send("t", b"v")
        await stage.advance()
        sent.cancel()
        placed = asyncio.ensure_future(sent.accepted())
        await stage.advance()
        assert not placed.done()
        ends = asyncio.ensure_future(getattr(stage.producer, call)())
        await stage.advance()
        assert not ends.done()
        stage.cluster.topics["t"] = 1
        [asked] = await stage.produced(2000)
        assert asked.values() == [b"v"] and placed.done() and not ends.done()
        asked.answer()
        await stage.advance()
        await ends


async def test_a_close_ends_when_a_cancelled_delivery_is_refused() -> None:
    async with producing(lambda cluster: cluster.topics.clear(), max_block_ms=1000) as stage:
        stage.producer.send("t", b"v").cancel()
        closes = asyncio.ensure_future(stage.producer.close())
        await stage.advance()
        assert not closes.done()
        await stage.advance(1001)
        await stage.advance()
        assert closes.done()


async def test_a_task_that_waits_may_be_cancelled_and_others_still_hear() -> None:
    async with producing() as stage:
        sent = stage.producer.send("t", b"v")

        async def waits() -> int:
            return (await sent).offset

        one, other = asyncio.create_task(waits()), asyncio.create_task(stage.producer.send_and_wait("t", b"w"))
        third = asyncio.create_task(waits())
        await stage.advance()
        one.cancel()
        await answer_all(stage)
        assert one.cancelled() and await third == 0 and (await other).offset == 1


def test_errors_are_those_of_python_that_mean_the_same() -> None:
    for error, base in (
        (Timeout, TimeoutError),
        (BufferExhausted, BufferError),
        (RecordTooLarge, ValueError),
        (Serialization, ValueError),
        (ProducerClosed, RuntimeError),
        (WrongState, RuntimeError),
    ):
        assert issubclass(error, base)
        assert str(error("why")) == "why"


async def test_a_record_that_failed_unheard_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with producing() as stage:
        stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        asked.answer(ErrorCode.INVALID_TOPIC_EXCEPTION)
        assert "1 record(s) for t-0 failed, and of 1 nobody waits for the end" in caplog.text
        caplog.clear()
        heard = asyncio.ensure_future(stage.producer.send("u", b"v", partition=0))
        stage.producer.send("t", b"x" * 2_000_000)
        assert "a record for t was not sent: a record for t takes up to" in caplog.text
        heard.cancel()


async def test_a_refusal_that_a_callback_hears_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """`stepdown produce` said it twice."""
    heard: list[ProducerError | None] = []
    async with producing() as stage:
        stage.producer.send("t", b"x" * 2_000_000, callback=lambda metadata, error: heard.append(error))
    assert isinstance(heard[0], RecordTooLarge) and not caplog.text


@pytest.mark.parametrize(
    ("wrong", "settings"),
    [
        ({"value": b"x" * 3000}, {"max_request_size": 2000, "batch_size": 100}),
        ({"value": "text"}, {}),
        ({"value": b"v", "topic": "gone"}, {"max_block_ms": 10}),
    ],
    ids=["too large", "no bytes", "an unknown topic"],
)
async def test_a_record_refused_before_a_batch_counts_as_an_error(wrong: Any, settings: Any) -> None:
    async with producing(**settings) as stage:
        with suppress(Serialization):
            stage.producer.send(**{"topic": "t"} | wrong)
        await stage.advance(20)
        await stage.advance(2000)
        assert stage.producer.metrics()["record-error-total"] == 1


# --- settings ---------------------------------------------------------------------------------------------------------


def test_the_typed_settings_are_those_there_are() -> None:
    kept = {name for name in (*KEYS, *SECURITY_KEYS) if name != "bootstrap.servers"}
    short = {name for name, key in SHORT_NAMES.items() if key in kept}
    assert set(Settings.__annotations__) == {name.replace(".", "_") for name in kept} | short


def test_a_partitioner_without_on_new_batch_is_refused_where_it_is_given() -> None:
    class Half:
        def partition(self, view: object, key: object, value: object) -> int:
            return 0

    with pytest.raises(ConfigError, match="on_new_batch"):
        Producer("127.0.0.1:1", partitioner=Half())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"ssl_context": ssl.create_default_context()},
        {"ssl_context": ssl.create_default_context(), "security_protocol": "SSL", "ssl_key_password": "x"},
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"},
        {"token_provider": lambda: "token"},
    ],
    ids=["a context without SSL", "a context and ssl settings", "no token", "a token without OAUTHBEARER"],
)
def test_what_does_not_go_together_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError):
        Producer("127.0.0.1:1", **given)
