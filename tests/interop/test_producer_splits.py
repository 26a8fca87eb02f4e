"""Batches above the limit of the topic and one record that is too large: once a partition stalled in ten of 24 runs.

A split batch was renumbered while it was on the wire, so the answer to its old number counted for the new one.
"""

import asyncio
import os
import random
from collections.abc import Iterator
from contextlib import suppress

import pytest
from stepdown.producer import Producer, ProducerError, RecordTooLarge
from support.broker import BrokerProcess, Stepdown
from support.clients import Span
from support.clients_python import AIOKAFKA
from support.deadline import DEADLINE_S
from support.kafka import ApacheKafka

LIMIT, BATCH_BYTES, RECORDS = 30_000, 200_000, 600
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RUNS = 200
Broker = BrokerProcess | ApacheKafka


@pytest.fixture(scope="module", params=["stepdown", pytest.param("kafka", marks=pytest.mark.java)])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    folder = tmp_path_factory.mktemp(request.param)
    made: Broker = Stepdown(folder) if request.param == "stepdown" else ApacheKafka(folder)
    made.start()
    yield made
    made.stop()


async def cut_now_and_then(producer: Producer, draws: random.Random) -> None:
    """Breaks the producer's connections again and again."""
    while True:
        await asyncio.sleep(draws.uniform(0.005, 0.05))
        for node in list(producer._link._nodes.values()):  # type: ignore[attr-defined]
            if node.connection is not None and node.connection.open:
                node.connection.close()


async def run(broker: Broker, number: int, *, cut: bool) -> None:
    """One run: every record but the large one arrives once, in order, long before `delivery.timeout.ms`."""
    draws, topic = random.Random(number), f"splits-{number}-{cut}"
    await asyncio.to_thread(broker.create_topic, topic, configs={"max.message.bytes": str(LIMIT)})
    codec = CODECS[number % len(CODECS)]
    large = draws.randrange(RECORDS)
    async with Producer(
        broker.address, batch_size=BATCH_BYTES, linger_ms=draws.choice([0, 5]), compression=codec, retry_backoff_ms=20
    ) as producer:
        cutting = asyncio.create_task(cut_now_and_then(producer, draws)) if cut else None
        deliveries = []
        for at in range(RECORDS):
            head = b"%06d" % at
            if at == large:
                value = head + draws.randbytes(LIMIT * 2)
            else:
                value = head + (draws.randbytes(500) if at // 20 % 2 else b"x" * 500)
            deliveries.append(producer.send(topic, value))
            if draws.random() < 0.05:
                await asyncio.sleep(0)
        async with asyncio.timeout(DEADLINE_S):
            ends = await asyncio.gather(*deliveries, return_exceptions=True)
        if cutting is not None:
            cutting.cancel()
            with suppress(asyncio.CancelledError):
                await cutting
    failed = [at for at, end in enumerate(ends) if isinstance(end, BaseException)]
    assert failed == [large], [ends[at] for at in failed]
    assert isinstance(ends[large], RecordTooLarge | ProducerError)
    spans = [Span(topic=topic, count=RECORDS - 1)]
    read = await asyncio.to_thread(AIOKAFKA.consume, broker.address, "check", spans)
    assert [int(record.message.value[:6]) for record in read] == [at for at in range(RECORDS) if at != large]


@pytest.mark.parametrize("cut", [False, True], ids=["in peace", "cut connections"])
async def test_only_the_record_that_is_too_large_fails(either: Broker, cut: bool) -> None:
    await run(either, 0, cut=cut)
    await run(either, 3, cut=cut)


@pytest.mark.slow
@pytest.mark.parametrize("cut", [False, True], ids=["in peace", "cut connections"])
async def test_it_does_so_every_time(either: Broker, cut: bool) -> None:
    for number in range(10, 10 + int(os.environ.get("STEPDOWN_TEST_RUNS", RUNS))):
        await run(either, number, cut=cut)
