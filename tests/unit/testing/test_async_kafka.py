"""`AsyncKafka`: everything that `Kafka` and its parts do, awaited."""

import pytest
from stepdown.testing import AsyncKafka, running
from stepdown.testing.faults import ArmedFault


def names_of(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


async def test_nothing_of_kafka_and_its_parts_is_missing() -> None:
    async with running() as kafka:
        whole = kafka.blocking
        assert names_of(whole) - names_of(kafka) == {"wire", "control"}
        for part in ("faults", "clock", "requests", "cluster"):
            assert names_of(getattr(whole, part)) - names_of(getattr(kafka, part)) == set()
        fault = await kafka.faults.drop(api="Produce", optional=True)
        assert names_of(ArmedFault) - names_of(fault) == set()


async def test_a_fault_is_armed_waited_for_and_removed() -> None:
    async with running() as kafka:
        assert isinstance(kafka, AsyncKafka)
        async with await kafka.faults.drop(api="Produce", optional=True) as fault:
            assert await fault.hits() == 0
            assert [each["state"] for each in await kafka.faults.all()] == ["armed"]
            with pytest.raises(AssertionError, match="has fired 0 times"):
                await fault.wait(timeout="1ms")
        assert [each["state"] for each in await kafka.faults.all()] == ["removed"]
        assert await kafka.requests.all() == []


async def test_the_clock_is_read() -> None:
    async with running() as kafka:
        await kafka.clock.pause()
        before = await kafka.clock.now_ms()
        await kafka.clock.advance("45s")
        assert await kafka.clock.now_ms() == before + 45_000
