"""Idempotence: ids, sequences, what each answer does to them, and epochs that the producer raises itself (KIP-360)."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from stepdown.producer import Delivery, ProducerError
from stepdown.producer.accumulator.producer_batch import Batch
from stepdown.producer.accumulator.sequence_numbers import ProducerIdAndEpoch, SequenceNumbers, comes_before
from stepdown.producer.errors import FATAL_CODES
from stepdown.producer.pending_record import PendingRecord
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.layout import Codec
from support.producing import Asked, Cluster, Stage, producing

IDEMPOTENT: dict[str, Any] = {"enable_idempotence": True, "batch_size": 100}


def header(asked: Asked) -> tuple[int, int, int]:
    [batch] = asked.batches.values()
    assert isinstance(batch, RecordBatch)
    return batch.producer_id, batch.producer_epoch, batch.base_sequence


def known(stage: Stage, producer_id: int = 1001) -> None:
    """As if the broker had taken a batch, so that several may be in flight."""
    assert stage.producer._call_source is not None
    stage.producer._call_source.sequences.entry_of(("t", 0)).known_id = producer_id


async def sent(stage: Stage, count: int) -> list[Asked]:
    """That many requests in flight, each with one batch of one record of 80 bytes; the broker knows the producer."""
    known(stage)
    for index in range(count):
        stage.producer.send("t", b"%d" % index * 80)
        await stage.advance()
    return list(stage.cluster.open)


async def run(stage: Stage, times: int = 30, step_ms: int = 200) -> None:
    """Answers whatever comes."""
    for _ in range(times):
        for asked in await stage.produced(step_ms):
            if asked in stage.cluster.open:
                asked.answer()


async def test_nothing_is_sent_without_a_producer_id_and_failures_are_repeated() -> None:
    def setup(cluster: Any) -> None:
        cluster.init_codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE]

    async with producing(setup, **IDEMPOTENT) as stage:
        stage.producer.send("t", b"v")
        assert await stage.produced() == []
        [asked] = await stage.produced(1000)
        assert header(asked) == (1001, 0, 0)


async def test_a_refused_producer_id_ends_every_record() -> None:
    def setup(cluster: Any) -> None:
        cluster.init_codes = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]

    async with producing(setup, **IDEMPOTENT) as stage:
        for _ in range(2):
            with pytest.raises(ProducerError, match="CLUSTER_AUTHORIZATION_FAILED"):
                delivery = stage.producer.send("t", b"v")
                await stage.advance()
                await delivery


async def test_sequences_run_on_over_batches_and_stay_on_a_retry() -> None:
    async with producing(**IDEMPOTENT) as stage:
        first, second = await sent(stage, 2)
        assert [header(first)[2], header(second)[2]] == [0, 1]
        first.drop()
        second.drop()
        [again] = await stage.produced(200)
        assert header(again)[2] == 0 and again.values()[0][:1] == b"0"
        again.answer()
        await run(stage)
        assert [value[:1] for value in stage.cluster.log["t", 0]] == [b"0", b"1"]


async def test_until_a_broker_took_the_first_batch_nothing_overtakes_it() -> None:
    """A broker that knows nothing of a producer takes any sequence; the second batch came to lie before the first."""
    async with producing(lambda c: c.topics.update(t=2), **IDEMPOTENT) as stage:
        for name in (b"1", b"2"):
            stage.producer.send("t", name * 80, partition=0)
            await stage.advance()
        [first] = stage.cluster.open
        stage.producer.send("t", b"other", partition=1)
        _, other = await stage.produced()
        assert other.values(partition=1) == [b"other"]
        first.answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await run(stage)
        stage.producer.send("t", b"3" * 80, partition=0)
        await stage.advance()
        stage.producer.send("t", b"4" * 80, partition=0)
        assert [header(asked)[2] for asked in await stage.produced()] == [2, 3]
        await run(stage)
        assert [value[:1] for value in stage.cluster.log["t", 0]] == [b"1", b"2", b"3", b"4"]


async def test_a_duplicate_counts_as_written() -> None:
    async with producing(**IDEMPOTENT) as stage:
        delivery = stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        asked.answer(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
        await stage.advance()
        assert (await delivery).offset == -1


async def test_out_of_order_behind_a_lost_batch_is_only_sent_again() -> None:
    async with producing(**IDEMPOTENT) as stage:
        first, second = await sent(stage, 2)
        second.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        first.drop()
        await run(stage)
        assert [value[:1] for value in stage.cluster.log["t", 0]] == [b"0", b"1"]
        assert stage.producer._call_source is not None and stage.producer._call_source.sequences.identity.epoch == 0


async def test_a_batch_that_a_later_one_overtook_gets_a_new_epoch() -> None:
    """A broker takes any first sequence; children of a split first batch were sent again until they expired."""
    async with producing(**IDEMPOTENT) as stage:
        first, second = await sent(stage, 2)
        second.answer()
        first.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        [again] = await stage.produced(200)
        assert header(again) == (1001, 1, 0) and again.values()[0][:1] == b"0"


async def test_out_of_order_on_the_next_sequence_raises_the_epoch_and_starts_at_zero() -> None:
    async with producing(**IDEMPOTENT) as stage:
        [first] = await sent(stage, 1)
        first.answer()
        await stage.advance()
        [second] = await sent(stage, 1)
        assert header(second) == (1001, 0, 1)
        second.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        [again] = await stage.produced(200)
        assert header(again) == (1001, 1, 0)


@pytest.mark.parametrize(("log_start", "epoch"), [(-1, 0), (0, 1), (5, 1)])
async def test_an_unknown_producer_id_is_sent_again_with_a_new_epoch_unless_the_log_start_is_unknown(
    log_start: int, epoch: int
) -> None:
    async with producing(**IDEMPOTENT) as stage:
        [first] = await sent(stage, 1)
        first.answer(ErrorCode.UNKNOWN_PRODUCER_ID, log_start_offset=log_start)
        [again] = await stage.produced(200)
        assert header(again) == (1001, epoch, 0)


async def test_a_fatal_answer_raises_the_epoch_and_renumbers_what_is_in_flight() -> None:
    async with producing(**IDEMPOTENT) as stage:
        known(stage)
        deliveries = [stage.producer.send("t", b"%d" % index * 80) for index in range(3)]
        await stage.advance()
        first, second, third = sorted(stage.cluster.open, key=header)
        first.answer(ErrorCode.INVALID_RECORD)
        second.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        third.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        [again] = await stage.produced(200)
        assert header(again) == (1001, 1, 0) and again.values()[0][:1] == b"1"
        await run(stage)
        assert [value[:1] for value in stage.cluster.log["t", 0]] == [b"1", b"2"]
        with pytest.raises(ProducerError, match="INVALID_RECORD"):
            await deliveries[0]


def judged(cluster: Cluster) -> None:
    """Brokers look at sequences."""
    cluster.checks_sequences = True


async def test_what_is_on_the_wire_keeps_its_numbers_until_it_is_answered() -> None:
    """Renumbered at once, its answer would count for the new epoch, whose next batch a broker then refuses for ever."""
    async with producing(judged, **IDEMPOTENT) as stage:
        known(stage)
        deliveries = [stage.producer.send("t", b"%d" % index * 80) for index in range(3)]
        await stage.advance()
        first, second, third = sorted(stage.cluster.open, key=header)
        second.answer(ErrorCode.MESSAGE_TOO_LARGE)
        third.answer(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        later = stage.producer.send("t", b"3" * 80)
        assert await stage.produced(1000) == [first]
        first.answer()
        await run(stage)
        assert [value[:1] for value in stage.cluster.log["t", 0]] == [b"0", b"2", b"3"]
        assert [(await each).offset for each in (deliveries[0], deliveries[2], later)] == [0, 1, 2]


async def test_what_may_have_been_written_is_sent_again_before_it_is_numbered_anew() -> None:
    """Its answer was lost; under a new epoch no broker could tell that it has it already."""
    async with producing(judged, **IDEMPOTENT) as stage:
        known(stage)
        deliveries = [stage.producer.send("t", b"%d" % index * 80) for index in range(3)]
        await stage.advance()
        first, second, third = sorted(stage.cluster.open, key=header)
        first.lose()
        second.answer(ErrorCode.MESSAGE_TOO_LARGE)
        third.drop()
        [again] = await stage.produced(1000)
        assert header(again) == (1001, 0, 0)
        await run(stage)
        assert [value[:1] for value in stage.cluster.log["t", 0]] == [b"0", b"2"]
        await asyncio.gather(deliveries[0], deliveries[2])


async def test_other_partitions_go_on_while_one_waits_to_be_numbered_anew() -> None:
    async with producing(lambda cluster: cluster.topics.update(t=2), **IDEMPOTENT) as stage:
        known(stage)
        for index in range(2):
            stage.producer.send("t", b"%d" % index * 80, partition=0)
        await stage.advance()
        first, second = sorted(stage.cluster.open, key=header)
        second.answer(ErrorCode.MESSAGE_TOO_LARGE)
        stage.producer.send("t", b"waits" * 16, partition=0)
        other = stage.producer.send("t", b"goes" * 20, partition=1)
        [asked] = [each for each in await stage.produced(100) if each is not first]
        assert list(asked.batches) == [("t", 1)]
        asked.answer()
        assert (await other).offset == 0


async def test_after_the_last_epoch_a_new_id_is_asked_for() -> None:
    async with producing(**IDEMPOTENT) as stage:
        assert stage.producer._call_source is not None
        stage.producer._call_source.sequences.identity = ProducerIdAndEpoch(1001, 32767)
        [first] = await sent(stage, 1)
        first.answer(ErrorCode.INVALID_RECORD)
        stage.producer.send("t", b"v")
        [again] = await stage.produced(200)
        assert header(again) == (1002, 0, 0)


async def test_an_expired_retry_holds_its_partition_until_the_answers_before_it_are_in() -> None:
    timing = {"delivery_timeout_ms": 1000, "request_timeout_ms": 900}
    async with producing(**IDEMPOTENT, **timing) as stage:
        delivery = stage.producer.send("t", b"0" * 80)
        [first] = await stage.produced()
        first.drop()
        [again] = await stage.produced(300)
        await stage.advance(800)
        assert delivery.done()
        later = stage.producer.send("t", b"1" * 80)
        requests = [asked for asked in await stage.produced(100) if asked is not again]
        assert [header(asked)[1:] for asked in requests] == [(1, 0)]
        requests[0].answer()
        assert (await later).offset == 0


async def test_a_batch_that_expired_unsent_leaves_nothing_unresolved() -> None:
    timing = {"delivery_timeout_ms": 1000, "request_timeout_ms": 900}
    async with producing(**IDEMPOTENT, **timing) as stage:
        stage.cluster.unready.add(0)
        stage.producer.send("t", b"0" * 80)
        await stage.advance(1100)
        stage.cluster.unready.clear()
        stage.producer.send("t", b"1" * 80)
        [asked] = await stage.produced(100)
        assert header(asked) == (1001, 0, 0)


async def test_other_partitions_move_to_the_new_epoch_when_theirs_are_through() -> None:
    async with producing(lambda c: c.topics.update(t=2), **IDEMPOTENT) as stage:
        stage.producer.send("t", b"a" * 80, partition=0)
        [zero] = await stage.produced()
        stage.producer.send("t", b"b" * 80, partition=1)
        await stage.advance()
        one = next(asked for asked in stage.cluster.open if asked is not zero)
        zero.answer(ErrorCode.INVALID_RECORD)
        late = stage.producer.send("t", b"c" * 80, partition=1)
        assert await stage.produced(50) == [one]
        one.answer()
        [moved] = await stage.produced(50)
        assert header(moved) == (1001, 1, 0)
        moved.answer()
        await stage.advance()
        assert late.done()


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.MESSAGE_TOO_LARGE])
async def test_refusals_of_a_single_record_fail_it(code: ErrorCode) -> None:
    async with producing(**IDEMPOTENT) as stage:
        delivery = stage.producer.send("t", b"v")
        [asked] = await stage.produced()
        asked.answer(code)
        await stage.advance()
        with pytest.raises(ProducerError) as caught:
            await delivery
        assert caught.value.code is code


@pytest.mark.parametrize("code", sorted(FATAL_CODES), ids=lambda code: code.name)
async def test_some_answers_end_the_producer_and_every_record_once(code: ErrorCode) -> None:
    ends: list[tuple[bytes, ErrorCode]] = []
    async with producing(lambda c: c.topics.update(t=2), linger_ms=0, max_block_ms=1000, **IDEMPOTENT) as stage:

        def send(name: bytes, topic: str = "t", partition: int = 0) -> None:
            stage.producer.send(
                topic, name, partition=partition, callback=lambda m, e: ends.append((name, e.code if e else e))
            )

        known(stage)
        send(b"refused")
        [asked] = await stage.produced()
        send(b"in flight")
        await stage.advance()
        stage.cluster.unready.add(0)
        send(b"queued", partition=1)
        send(b"waits for metadata", topic="unknown")
        asked.answer(code)
        for other in await stage.produced():
            other.answer()
        await stage.advance(2000)
        send(b"later")
        assert Counter(name for name, _ in ends) == Counter(
            [b"refused", b"in flight", b"queued", b"waits for metadata", b"later"]
        )
        assert {name for name, error in ends if error is not code} == {b"in flight"}


async def test_an_old_broker_without_ids_is_told_apart() -> None:
    async with producing(lambda c: c.spoken.pop(22), **IDEMPOTENT) as stage:
        delivery = stage.producer.send("t", b"v")
        await stage.advance(10)
        with pytest.raises(ProducerError, match="older than 0"):
            await delivery


def batch(count: int) -> Batch:
    made = Batch("t", 0, codec=Codec.NONE, limit_bytes=100, ratio=1.0, now_ms=0)
    for _ in range(count):
        assert made.try_append(PendingRecord(None, None, None, b"\0", 82, Delivery("t", 0, -1, -1, None)))
    return made


def test_sequences_wrap_to_zero() -> None:
    sequences = SequenceNumbers()
    sequences.set_producer_id_and_epoch(ProducerIdAndEpoch(1, 0))
    sequences.entry_of(("t", 0)).next = 2**31 - 2
    one, two = batch(3), batch(1)
    sequences.assign_sequence(one)
    sequences.assign_sequence(two)
    assert (one.base_sequence, one.last_sequence, two.base_sequence) == (2**31 - 2, 0, 1)
    assert comes_before(one, two) and not comes_before(two, one)
