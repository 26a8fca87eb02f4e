"""`AsyncKafka`: everything that `Kafka` and its parts do, awaited, in any event loop and without a thread a call."""

import asyncio
import threading

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaConnectionError
from stepdown.testing import PASS, AsyncKafka, HookedRequest, running, running_async
from stepdown.testing.blocking_front import BlockingFront
from support.deadline import DEADLINE_S
from support.loop_passes import count_passes


def names_of(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


async def test_what_blocks_and_what_is_awaited_have_the_same_names() -> None:
    def fronts() -> list[BlockingFront[object]]:
        with running() as kafka:
            fault = kafka.faults.drop(api="Produce", optional=True)
            return [kafka, kafka.faults, kafka.clock, kafka.requests, kafka.cluster, fault]

    for front in await asyncio.to_thread(fronts):
        assert names_of(front) - {"awaited"} == names_of(front.awaited)


async def test_a_fault_is_armed_waited_for_and_removed() -> None:
    async with running_async() as kafka:
        assert isinstance(kafka, AsyncKafka)
        async with await kafka.faults.drop(api="Produce", optional=True) as fault:
            assert await fault.hits() == 0
            assert [each["state"] for each in await kafka.faults.all()] == ["armed"]
            with pytest.raises(AssertionError, match="has fired 0 times"):
                await fault.wait(timeout="1ms")
        assert [each["state"] for each in await kafka.faults.all()] == ["removed"]
        assert await kafka.requests.all() == []


async def test_the_clock_is_read() -> None:
    async with running_async() as kafka:
        await kafka.clock.pause()
        before = await kafka.clock.now_ms()
        await kafka.clock.advance("45s")
        assert await kafka.clock.now_ms() == before + 45_000


async def test_brokers_of_the_tests_own_loop_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call was a thread of a pool."""

    async def none(*args: object) -> None:
        raise AssertionError("a call in a thread")

    monkeypatch.setattr(asyncio, "to_thread", none)
    threads = set(threading.enumerate())
    async with running_async(topics={"t": 1}) as kafka:
        consumer = AIOKafkaConsumer(
            "t", bootstrap_servers=kafka.bootstrap, group_id="g", auto_offset_reset="latest", enable_auto_commit=False
        )
        await consumer.start()
        try:
            fetching = asyncio.create_task(consumer.getone())
            await kafka.wait_for_consumers("g", timeout=DEADLINE_S)
            await kafka.produce("t", b"x")
            assert (await asyncio.wait_for(fetching, DEADLINE_S)).value == b"x"
        finally:
            await consumer.stop()
        await kafka.wait_for_group("g", "Empty", timeout=DEADLINE_S)
        assert {each for each in set(threading.enumerate()) - threads if each.name == "stepdown-broker"} == set()


async def test_brokers_of_another_loop_are_awaited_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as kafka:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "to_thread", None)
            passes, _ = await count_passes(asyncio.gather(*(kafka.produce("t", str(number)) for number in range(20))))
            assert len(await kafka.wait_for_records("t", 20)) == 20
            assert passes > 20


def test_the_same_object_is_used_from_several_loops() -> None:
    """Its connections were those of the loop that used it first."""
    with running() as kafka:
        for number in range(3):
            asyncio.run(kafka.awaited.produce("t", str(number)))
        assert [each.value for each in kafka.records("t")] == [b"0", b"1", b"2"]


async def test_a_hook_runs_in_the_loop_of_the_test() -> None:
    seen = asyncio.Event()

    async def note(request: HookedRequest) -> object:
        seen.set()
        return PASS

    async with running_async(topics={"t": 1}) as kafka:
        await kafka.faults.hook(note, api="FindCoordinator")
        consumer = AIOKafkaConsumer("t", bootstrap_servers=kafka.bootstrap, group_id="g")
        await consumer.start()
        await asyncio.wait_for(seen.wait(), DEADLINE_S)
        await consumer.stop()


def test_a_blocking_call_in_the_brokers_own_loop_is_an_error() -> None:
    """It waited for itself, for ever."""
    with running(topics={"t": 1}) as kafka:

        async def block(request: HookedRequest) -> object:
            kafka.produce("t", b"x")
            return PASS

        kafka.faults.hook(block, api="Metadata", client_id="app")

        async def ask() -> None:
            consumer = AIOKafkaConsumer("t", bootstrap_servers=kafka.bootstrap, client_id="app")
            try:
                await consumer.start()
            finally:
                await consumer.stop()

        with pytest.raises(KafkaConnectionError):
            asyncio.run(ask())
        with pytest.raises(AssertionError, match="would wait for the event loop that it holds"):
            kafka.faults.assert_fired()
