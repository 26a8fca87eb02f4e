"""KIP-91: from the batch's creation, through the queue, the wire and retries, one end per record and in time."""

import asyncio

import pytest
from stepdown.config import ConfigError
from stepdown.producer import Delivery, Timeout
from stepdown.producer.settings import producer_settings
from stepdown.protocol.errors import ErrorCode
from support.deadline import DEADLINE_S
from support.producing import Cluster, producing

QUICK = {"delivery_timeout_ms": 1000, "request_timeout_ms": 900, "linger_ms": 0}


def settings(**given: object) -> int:
    return producer_settings({"bootstrap.servers": "h:1"} | given).delivery_timeout_ms  # type: ignore[arg-type]


def test_a_timeout_below_linger_and_request_timeout_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"delivery.timeout.ms: expected at least linger.ms \+ request.timeout.ms"):
        settings(delivery_timeout_ms=1009, request_timeout_ms=1000, linger_ms=10)
    assert settings(delivery_timeout_ms=1010, request_timeout_ms=1000, linger_ms=10) == 1010


def test_a_default_below_the_sum_is_raised() -> None:
    assert settings(request_timeout_ms=200_000, linger_ms=5) == 200_005


def test_the_sum_is_clamped_to_an_int() -> None:
    assert settings(request_timeout_ms=2**31 - 1, linger_ms=2**31 - 1) == 2**31 - 1


def test_a_timeout_beyond_an_int_is_an_error() -> None:
    with pytest.raises(ConfigError):
        settings(delivery_timeout_ms=2**63 - 1)


async def test_a_queued_batch_expires_at_the_timeout_and_not_before() -> None:
    async with producing(**QUICK) as stage:
        stage.cluster.unready.add(0)
        delivery = stage.producer.send("t", b"v")
        await stage.advance()
        created = delivery.batch.created_ms if delivery.batch is not None else 0
        await stage.advance(created + 999 - stage.clock.now)
        assert not delivery.done()
        await stage.advance(1)
        with pytest.raises(Timeout, match=r"1 record\(s\) for t-0 expired: 1000 ms since batch creation"):
            await delivery


async def test_a_batch_in_flight_expires_and_its_answer_changes_nothing() -> None:
    async with producing(**QUICK) as stage:
        ends: list[object] = []
        delivery = stage.producer.send("t", b"v", callback=lambda m, e: ends.append(e))
        [asked] = await stage.produced()
        await stage.advance(1000)
        assert delivery.done() and len(ends) == 1
        asked.answer()
        await stage.advance()
        assert len(ends) == 1
        with pytest.raises(Timeout):
            await delivery


async def test_retries_do_not_extend_the_time() -> None:
    async with producing(**QUICK) as stage:
        delivery = stage.producer.send("t", b"v")
        for _ in range(50):
            for asked in await stage.produced(50):
                asked.answer(ErrorCode.NOT_ENOUGH_REPLICAS)
            if delivery.done():
                break
        assert delivery.batch is not None and delivery.batch.attempts > 1
        assert 1000 <= stage.clock.now - delivery.batch.created_ms <= 1100
        with pytest.raises(Timeout):
            await delivery


async def test_an_answer_past_the_timeout_is_not_retried() -> None:
    async with producing(**QUICK) as stage:
        delivery = stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        stage.clock.now += 5000
        asked.answer(ErrorCode.NOT_ENOUGH_REPLICAS)
        await stage.advance()
        assert delivery.done() and await stage.produced() == []


async def test_batches_in_flight_fail_before_queued_ones_when_the_loop_stalled() -> None:
    """Kafka 3.9 fails queued batches of a pass first, so callbacks ran out of order."""
    async with producing(max_in_flight_requests_per_connection=1, batch_size=100, **QUICK) as stage:
        ended: list[int] = []
        for index in range(3):
            stage.producer.send("t", b"x" * 90, callback=lambda m, e, index=index: ended.append(index))
        assert len(await stage.produced()) == 1
        stage.clock.now += 5000
        stage.producer._wakeup.schedule_pass()
        await stage.advance()
        assert ended == [0, 1, 2]


async def test_what_a_callback_sends_again_gets_its_whole_time() -> None:
    """It went into the open batch of its topic, which had been taken out to expire next, and failed at once."""
    async with producing(**QUICK) as stage:
        stage.cluster.topics["u"] = 1
        stage.cluster.unready.add(0)
        again: list[Delivery] = []
        stage.producer.send("u", b"1", callback=lambda m, e: again.append(stage.producer.send("t", b"3")))
        expired = stage.producer.send("t", b"2")
        await stage.advance()
        await stage.advance(1000)
        assert expired.done() and [delivery.done() for delivery in again] == [False]
        stage.cluster.unready.clear()
        stage.producer._wakeup.schedule_pass()
        [asked] = await stage.produced()
        assert asked.values() == [b"3"]
        asked.answer()
        assert (await again[0]).offset == 0


async def test_with_one_request_in_flight_an_expired_partition_stays_muted_until_its_answer() -> None:
    async with producing(max_in_flight_requests_per_connection=1, **QUICK) as stage:
        stage.producer.send("t", b"1")
        [asked] = await stage.produced()
        await stage.advance(1000)
        second = stage.producer.send("t", b"2")
        assert await stage.produced() == [asked]
        asked.answer()
        [next_one] = await stage.produced()
        next_one.answer()
        assert (await second).offset == 1


async def test_a_batch_that_is_too_late_to_be_sent_does_not_mute_its_partition() -> None:
    """With one request in flight the partition waited for the answer to a request that was never sent, for ever."""
    async with producing(max_in_flight_requests_per_connection=1, batch_size=100, **QUICK) as stage:
        stage.cluster.unready.add(0)
        late = stage.producer.send("t", b"1" * 80)
        await stage.advance()
        stage.clock.now += 1000
        stage.cluster.unready.clear()
        second = stage.producer.send("t", b"2" * 80)
        [asked] = await stage.produced()
        assert asked.values() == [b"2" * 80] and isinstance(late.exception(), Timeout)
        asked.answer()
        assert (await second).offset == 0


async def test_what_waited_behind_an_expired_batch_goes_at_once() -> None:
    """Nothing made another pass: records in line, and batches behind an unresolved one, waited for the next event."""
    large, small = b"x" * 4000, b"y" * 4000
    async with producing(buffer_memory=5000, batch_size=4500, max_block_ms=60_000, **QUICK) as stage:
        stage.producer.send("t", large)
        [asked] = await stage.produced()
        waiting = stage.producer.send("t", small)
        await stage.advance(1000)
        assert stage.cluster.open[1].values() == [small]
        stage.cluster.open[1].answer()
        assert (await waiting).offset == 0
        asked.answer()
    async with producing(enable_idempotence=True, batch_size=100, **QUICK) as stage:
        first = stage.producer.send("t", b"1")
        [asked] = await stage.produced()
        asked.drop()
        [asked] = await stage.produced(500)
        second = stage.producer.send("t", b"2" * 80)
        assert await stage.produced(499) == [asked]  # behind one that may have been written
        await stage.produced(1)
        assert isinstance(first.exception(), Timeout) and len(stage.cluster.open) == 2
        assert stage.cluster.open[1].values() == [b"2" * 80] and not second.done()


async def test_one_request_in_flight_keeps_order_over_retries() -> None:
    async with producing(max_in_flight_requests_per_connection=1, batch_size=100) as stage:
        for index in range(4):
            stage.producer.send("t", b"%d" % index * 80)
        codes = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT]
        for _ in range(100):
            for asked in await stage.produced(100):
                asked.answer(codes.pop(0) if codes else ErrorCode.NONE)
        assert [value[:1] for value in stage.cluster.log["t", 0]] == [b"0", b"1", b"2", b"3"]


async def test_linger_counts_from_creation_and_not_from_the_last_append() -> None:
    async with producing(linger_ms=100, delivery_timeout_ms=200_000) as stage:
        stage.producer.send("t", b"1")
        await stage.advance(60)
        stage.producer.send("t", b"2")
        assert await stage.produced(39) == []
        [asked] = await stage.produced(1)
        assert asked.values() == [b"1", b"2"]


async def test_metadata_that_never_comes_ends_a_send_after_max_block() -> None:
    async with producing(max_block_ms=500) as stage:
        delivery = stage.producer.send("absent", b"v")
        await stage.advance(499)
        assert not delivery.done()
        await stage.advance(1)
        with pytest.raises(Timeout, match="topic absent is not in the metadata after 500 ms"):
            await delivery


async def test_a_send_that_no_broker_answered_names_whom_was_asked() -> None:
    async with producing(lambda c: c.unready.update({-1, 0, 99}), max_block_ms=700) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance(700)
        with pytest.raises(Timeout, match=r"no broker answered within 700 ms, for topic .*: 127\.0\.0\.1:9092"):
            await delivery


async def test_a_partition_that_does_not_exist_ends_a_send_after_max_block() -> None:
    async with producing(max_block_ms=500) as stage:
        delivery, other = stage.producer.send("t", b"v", partition=7), stage.producer.send("t", b"w", partition=0)
        [asked] = await stage.produced()
        asked.answer()
        assert (await other).offset == 0
        await stage.advance(500)
        with pytest.raises(Timeout, match="partition 7 of topic t is not in the metadata"):
            await delivery


async def test_a_partitioners_answer_beyond_the_topic_waits_leaderless_until_it_expires() -> None:
    class Beyond:
        def partition(self, view: object, key: object, value: object) -> int:
            return 9

        def on_new_batch(self, view: object, previous: int) -> None: ...

    async with producing(partitioner=Beyond(), **QUICK) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance(999)
        assert not delivery.done()
        await stage.advance(10)
        with pytest.raises(Timeout, match="t-9"):
            await delivery


def no_leader(cluster: Cluster) -> None:
    cluster.leaders["t", 0] = -1


async def test_a_leaderless_partition_asks_for_metadata_and_goes_on() -> None:
    async with producing(no_leader) as stage:
        delivery = stage.producer.send("t", b"v", key=b"k")
        assert await stage.produced(2000) == []
        stage.cluster.leaders["t", 0] = 0
        [asked] = await stage.produced(3000)
        asked.answer()
        assert (await asyncio.wait_for(delivery.accepted(), DEADLINE_S)).done()
