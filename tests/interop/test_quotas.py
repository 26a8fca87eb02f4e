"""A client that is held to a rate gets that rate, and others lose nothing by it.

Kafka's rule, which stepdown follows, lets a client take what eleven windows of a second allow at once, and then little
until they have passed. So the rate over 30 s is taken for each beginning within such a cycle, and these are averaged.
"""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from support.broker import BrokerProcess, broker_under_test
from support.kafka_tools import KafkaTools

pytestmark = [pytest.mark.slow, pytest.mark.java]

RATE = 1_000_000
CYCLE_S = 12.0
MEASURED_S = 30.0
STEP_S = 0.5
VALUE = bytes(10_000)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    running = broker_under_test(tmp_path)
    running.start()
    try:
        running.create_topic("t")
        quota = f"--add-config producer_byte_rate={RATE},consumer_byte_rate={RATE}"
        held = f"--bootstrap-server {running.address} --alter --entity-type clients --entity-name held"
        KafkaTools("3.9.1").run("kafka.admin.ConfigCommand", f"{held} {quota}")
        yield running
    finally:
        running.stop()


class Load(threading.Thread):
    """Goes on until it is told to end; `count` is in bytes of values."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self.ends = threading.Event()

    def rate(self) -> float:
        """Bytes a second over 30 s, averaged over when these begin."""
        seen: list[tuple[float, int]] = []
        while not seen or seen[-1][0] - seen[0][0] < CYCLE_S + MEASURED_S:
            self.ends.wait(STEP_S)
            seen.append((time.monotonic(), self.count))
        rates = []
        for began, before in seen:
            later = next(((at, count) for at, count in seen if at >= began + MEASURED_S), None)
            if later is not None:
                rates.append((later[1] - before) / (later[0] - began))
        return sum(rates) / len(rates)


class Producing(Load):
    def __init__(self, address: str, client_id: str) -> None:
        super().__init__()
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "client.id": client_id,
                "queue.buffering.max.messages": 200,
                "batch.size": 100_000,
                "linger.ms": 5,
            }
        )

    def run(self) -> None:
        while not self.ends.is_set():
            try:
                self._producer.produce("t", VALUE, on_delivery=self._delivered)
                self._producer.poll(0)
            except BufferError:
                self._producer.poll(0.05)
        self._producer.purge()
        self._producer.flush(1)

    def _delivered(self, error: object, message: object) -> None:
        if error is None:  # what is given up at the end has one
            self.count += len(VALUE)


class Consuming(Load):
    def __init__(self, address: str, client_id: str) -> None:
        super().__init__()
        self._consumer = Consumer(
            {
                "bootstrap.servers": address,
                "client.id": client_id,
                "group.id": client_id,
                "fetch.message.max.bytes": 200_000,
                "queued.max.messages.kbytes": 2_000,
                "fetch.queue.backoff.ms": 10,
            }
        )

    def run(self) -> None:
        self._consumer.assign([TopicPartition("t", 0, 0)])
        while not self.ends.is_set():
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                self.count += len(message.value())
        self._consumer.close()


class Feeding(Producing):
    """Half as much again as the others are held to, evenly."""

    def run(self) -> None:
        due = time.monotonic()
        while not self.ends.is_set():
            for _ in range(15):
                self._producer.produce("t", VALUE)
            self._producer.poll(0)
            due += 15 * len(VALUE) / (1.5 * RATE)
            self.ends.wait(max(0.0, due - time.monotonic()))


def test_a_producer_gets_the_rate_it_is_held_to(broker: BrokerProcess) -> None:
    held = Producing(broker.address, "held")
    rate = _held_rate(held)
    assert 0.95 * RATE <= rate <= 1.05 * RATE, f"{rate / 1e6:.3f} MB/s"


def test_a_consumer_of_a_faster_feed_gets_the_rate_it_is_held_to(broker: BrokerProcess) -> None:
    feed = Feeding(broker.address, "free")
    feed.start()
    rate = _held_rate(Consuming(broker.address, "held"))
    feed.ends.set()
    feed.join()
    assert 0.95 * RATE <= rate <= 1.05 * RATE, f"{rate / 1e6:.3f} MB/s"


def _held_rate(held: Load) -> float:
    held.start()
    held.ends.wait(2 * CYCLE_S)
    rate = held.rate()
    held.ends.set()
    held.join()
    return rate


def test_others_lose_nothing_by_it(broker: BrokerProcess) -> None:
    """Another producer has the throughput that it has alone, within a tenth."""
    alone = _others_rate(broker, beside_held=False)
    beside = _others_rate(broker, beside_held=True)
    assert beside >= 0.9 * alone, f"{beside / 1e6:.1f} MB/s beside one that is held, {alone / 1e6:.1f} MB/s alone"


def _others_rate(broker: BrokerProcess, *, beside_held: bool) -> float:
    held = Producing(broker.address, "held")
    if beside_held:
        held.start()
        held.ends.wait(CYCLE_S)
    free = Producing(broker.address, "free")
    free.start()
    free.ends.wait(1.0)
    rate = free.rate()
    free.ends.set()
    held.ends.set()
    for load in (free, held):
        if load.is_alive():
            load.join()
    return rate
