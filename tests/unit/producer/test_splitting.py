"""KIP-126: the estimate, and what MESSAGE_TOO_LARGE does to a batch."""

import asyncio

import pytest
from stepdown.producer import Delivery, ProducerError, RecordTooLarge
from stepdown.producer.accumulator.compression_estimator import CompressionRatios
from stepdown.producer.accumulator.producer_batch import Batch
from stepdown.producer.pending_record import PendingRecord
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.records.layout import Codec
from support.producing import producing

TOO_LARGE = ErrorCode.MESSAGE_TOO_LARGE
ONE = {"max_in_flight_requests_per_connection": 1}


def test_the_estimate_starts_at_one_and_is_kept_by_topic_and_codec() -> None:
    ratios = CompressionRatios()
    ratios.update_estimation("t", Codec.LZ4, 0.5)
    assert ratios.get("t", Codec.LZ4) == pytest.approx(0.995)
    assert ratios.get("t", Codec.GZIP) == ratios.get("other", Codec.LZ4) == 1.0


def test_the_estimate_falls_by_little_and_never_below_what_was_seen() -> None:
    ratios = CompressionRatios()
    assert ratios.update_estimation("t", Codec.LZ4, 0.998) == 0.998
    assert ratios.update_estimation("t", Codec.LZ4, 0.998) == 0.998


def test_the_estimate_rises_by_much_and_at_least_to_what_was_seen() -> None:
    ratios = CompressionRatios()
    for _ in range(100):
        ratios.update_estimation("t", Codec.LZ4, 0.1)
    assert ratios.get("t", Codec.LZ4) == pytest.approx(0.5)
    assert ratios.update_estimation("t", Codec.LZ4, 0.51) == pytest.approx(0.55)
    assert ratios.update_estimation("t", Codec.LZ4, 0.9) == 0.9


def test_a_reset_goes_to_one_or_to_a_worse_ratio_that_was_seen() -> None:
    ratios = CompressionRatios()
    for seen, wanted in ((1.2, 1.2), (0.4, 1.0)):
        ratios.reset_estimation("t", Codec.LZ4, seen)
        assert ratios.get("t", Codec.LZ4) == wanted


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_the_children_carry_every_record_once_in_order(codec: str) -> None:
    async with producing(batch_size=2000, compression=codec, linger_ms=5, **ONE) as stage:
        ratios = stage.producer.ratios
        for _ in range(200):
            ratios.update_estimation("t", stage.producer.settings.codec, 0.1)
        values = [b"%04d" % i * 50 for i in range(9)]
        ended: list[int] = []
        deliveries = [
            stage.producer.send("t", v, callback=lambda m, e, i=i: ended.append(i)) for i, v in enumerate(values)
        ]
        [first, *_] = await stage.produced(5)
        sent_first = first.values()
        first.answer(TOO_LARGE)
        while asked := await stage.produced():
            if len(asked[0].values()) > 2:
                asked[0].answer(TOO_LARGE)
            else:
                asked[0].answer()
        assert len(sent_first) > 2
        assert stage.cluster.log["t", 0] == values
        assert [(await d).offset for d in deliveries] == list(range(9))
        assert ended == list(range(9))


async def test_children_keep_the_time_and_use_no_retry_and_no_backoff() -> None:
    async with producing(batch_size=600, linger_ms=5, retries=0, **ONE) as stage:
        deliveries = [stage.producer.send("t", b"x" * 100) for _ in range(4)]
        await stage.advance()
        parent = deliveries[0].batch
        [asked] = await stage.produced(5)
        asked.answer(TOO_LARGE)
        [again] = await stage.produced()
        child = deliveries[0].find_batch()
        assert parent is not None and child is not None and child is not parent
        assert (child.created_ms, child.attempts, child.is_split_child) == (parent.created_ms, 0, True)
        again.answer()
        [last] = await stage.produced()
        last.answer()
        assert [(await d).offset for d in deliveries] == [0, 1, 2, 3]


async def test_who_asks_or_waits_after_a_split_of_a_split_hears_of_the_record_once() -> None:
    async with producing(batch_size=2000, linger_ms=5, **ONE) as stage:
        ended: list[int] = []
        deliveries = [
            stage.producer.send("t", b"x" * 100, callback=None if i % 3 else (lambda *_, i=i: ended.append(i)))
            for i in range(8)
        ]
        early = asyncio.ensure_future(deliveries[7])
        for _ in range(2):
            [asked] = await stage.produced(5)
            asked.answer(TOO_LARGE)
        late = asyncio.ensure_future(deliveries[1])
        while asked_now := await stage.produced():
            asked_now[0].answer()
        assert ended == [0, 3, 6]
        assert [(await waiter).offset for waiter in (early, late)] == [7, 1]
        assert [(await d).offset for d in deliveries] == list(range(8))


async def test_one_split_counts_once_however_many_children() -> None:
    async with producing(batch_size=1000, compression="gzip", linger_ms=5) as stage:
        for _ in range(250):
            stage.producer.ratios.update_estimation("t", Codec.GZIP, 0.01)
        for i in range(60):
            stage.producer.send("t", b"%d" % i * 100)
        [asked, *_] = await stage.produced(5)
        asked.answer(TOO_LARGE)
        await stage.advance()
        assert stage.producer.metrics()["batch-split-total"] == 1
        assert stage.producer.ratios.get("t", Codec.GZIP) >= 0.9


async def test_a_child_holds_at_most_batch_size() -> None:
    async with producing(batch_size=1000, compression="gzip", linger_ms=5) as stage:
        for _ in range(250):
            stage.producer.ratios.update_estimation("t", Codec.GZIP, 0.01)
        deliveries = [stage.producer.send("t", b"%d" % i * 100) for i in range(20)]
        [asked, *_] = await stage.produced(5)
        asked.answer(TOO_LARGE)
        held = [delivery.find_batch() for delivery in deliveries]
        children = {id(batch): batch for batch in held if batch is not None and batch.is_split_child}
        assert len(children) > 2
        assert all(61 + child.buffer.size_bytes * 1.05 <= 1000 or child.count == 1 for child in children.values())


async def test_a_split_that_gives_one_child_is_halved_until_single_records_fail() -> None:
    """Kafka 3.9 sends such a child again and again until the delivery timeout."""
    async with producing(batch_size=5000, linger_ms=5, **ONE) as stage:
        deliveries = [stage.producer.send("t", b"x" * 100) for _ in range(5)]
        sizes = []
        await stage.advance(5)
        while asked := await stage.produced():
            sizes.append(len(asked[0].values()))
            asked[0].answer(TOO_LARGE)
        assert sizes == [5, 3, 2, 1, 1, 1, 2, 1, 1]
        for delivery in deliveries:
            with pytest.raises(RecordTooLarge):
                await delivery


async def test_record_list_too_large_does_not_split() -> None:
    async with producing(linger_ms=5) as stage:
        deliveries = [stage.producer.send("t", b"x") for _ in range(3)]
        [asked] = await stage.produced(5)
        asked.answer(ErrorCode.RECORD_LIST_TOO_LARGE)
        assert await stage.produced() == []
        for delivery in deliveries:
            with pytest.raises(ProducerError, match="RECORD_LIST_TOO_LARGE"):
                await delivery


async def test_a_plain_set_for_an_old_broker_is_never_split() -> None:
    async with producing(lambda c: c.spoken.update({0: (0, 2)}), linger_ms=5) as stage:
        deliveries = [stage.producer.send("t", b"x") for _ in range(3)]
        [asked] = await stage.produced(5)
        asked.answer(TOO_LARGE)
        assert await stage.produced() == []
        for delivery in deliveries:
            with pytest.raises(RecordTooLarge):
                await delivery


async def test_a_late_message_too_large_does_not_split_an_expired_batch() -> None:
    async with producing(delivery_timeout_ms=100, request_timeout_ms=50, linger_ms=0) as stage:
        delivery = stage.producer.send("t", b"1"), stage.producer.send("t", b"2")
        [asked] = await stage.produced()
        await stage.advance(100)
        assert all(d.done() for d in delivery)
        asked.answer(TOO_LARGE)
        assert await stage.produced() == []
        assert stage.producer.metrics()["batch-split-total"] == 0


def test_children_continue_the_parents_sequence_and_wrap() -> None:
    batch = Batch("t", 0, codec=Codec.NONE, limit_bytes=1000, ratio=1.0, now_ms=0)
    for _ in range(3):
        assert batch.try_append(PendingRecord(None, None, b"x" * 100, b"\0", 182, Delivery("t", 0, -1, 100, None)))
    batch.close(None)
    batch.set_producer_state(7, 1, 2**31 - 2)
    children = batch.split_into(100, 1.0)
    assert [child.base_sequence for child in children] == [2**31 - 2, 2**31 - 1, 0]
    assert {(child.producer_id, child.producer_epoch) for child in children} == {(7, 1)}


async def test_flush_waits_for_the_children_too() -> None:
    async with producing(batch_size=1000, linger_ms=1000, **ONE) as stage:
        for _ in range(4):
            stage.producer.send("t", b"x" * 100)
        await stage.advance()
        flushed = asyncio.ensure_future(stage.producer.flush())
        [asked] = await stage.produced()
        asked.answer(TOO_LARGE)
        [child] = await stage.produced()
        assert not flushed.done()
        child.answer()
        [other] = await stage.produced()
        assert not flushed.done()
        other.answer()
        await stage.advance()
        assert flushed.done()
