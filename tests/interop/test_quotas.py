"""A client that is held to a rate gets that rate, and others lose nothing by it.

Kafka's rule, which stepdown follows, lets a client take what eleven windows of a second allow at once, and then little
until they have passed. So the rate over 30 s is taken for each beginning within such a cycle, and these are averaged.
"""

import re
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from support.broker import Stepdown
from support.kafka_tools import KafkaTools

pytestmark = [pytest.mark.slow, pytest.mark.java]

RATE = 1_000_000
CYCLE_S = 12.0
MEASURED_S = 30.0
STEP_S = 0.5
VALUE = bytes(10_000)
SMALL = bytes(1_000)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Stepdown]:
    with Stepdown(tmp_path) as running:
        running.create_topic("t")
        quota = f"--add-config producer_byte_rate={RATE},consumer_byte_rate={RATE}"
        held = f"--bootstrap-server {running.address} --alter --entity-type clients --entity-name held"
        KafkaTools("3.9.1").run("kafka.admin.ConfigCommand", f"{held} {quota}")
        yield running


class Load(threading.Thread):
    """Goes on until it is told to end; `count` is in bytes of values."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self.ends = threading.Event()

    def taken(self) -> int:
        return self.count

    def rate(self) -> float:
        """Bytes a second over 30 s, averaged over when these begin."""
        seen: list[tuple[float, int]] = []
        while not seen or seen[-1][0] - seen[0][0] < CYCLE_S + MEASURED_S:
            self.ends.wait(STEP_S)
            seen.append((time.monotonic(), self.taken()))
        rates = []
        for began, before in seen:
            later = next(((at, count) for at, count in seen if at >= began + MEASURED_S), None)
            if later is not None:
                rates.append((later[1] - before) / (later[0] - began))
        return sum(rates) / len(rates)


HELD_PRODUCER = {"queue.buffering.max.messages": 200, "batch.size": 100_000, "linger.ms": 5}


class Producing(Load):
    def __init__(self, address: str, client_id: str, settings: Mapping[str, object] | None = None) -> None:
        super().__init__()
        own = {"bootstrap.servers": address, "client.id": client_id}
        self._producer = Producer({**own, **(settings or HELD_PRODUCER)})

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
            self.count += len(message.value())  # type: ignore[attr-defined]


class Consuming(Load):
    """What it takes is what the broker has sent, with the batches that a fetch cut off, as the quota counts it."""

    def __init__(self, broker: Stepdown, client_id: str) -> None:
        super().__init__()
        self._metrics = f"http://{broker.http}/metrics"
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.address,
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
            self._consumer.poll(0.2)
        self._consumer.close()

    def taken(self) -> int:
        with urlopen(self._metrics) as page:
            found = re.search(r'^stepdown_bytes_out_total\{topic="t"\} (\S+)$', page.read().decode(), re.MULTILINE)
        return 0 if found is None else int(float(found[1]))


class Feeding(Producing):
    """Offers `rate` bytes a second, evenly, in small batches: of those that do not fit in, a fetch wastes little."""

    def __init__(self, address: str, rate: float) -> None:
        super().__init__(address, "free", {"batch.size": 5_000, "linger.ms": 0})
        self._offered = rate

    def run(self) -> None:
        due = time.monotonic()
        while not self.ends.is_set():
            for _ in range(100):
                self._producer.produce("t", SMALL, on_delivery=self._delivered)
            self._producer.poll(0)
            due += 100 * len(SMALL) / self._offered
            self.ends.wait(max(0.0, due - time.monotonic()))


def test_a_producer_gets_the_rate_it_is_held_to(broker: Stepdown) -> None:
    held = Producing(broker.address, "held")
    rate = _held_rate(held)
    assert 0.95 * RATE <= rate <= 1.05 * RATE, f"{rate / 1e6:.3f} MB/s"


def test_a_consumer_of_a_faster_feed_gets_the_rate_it_is_held_to(broker: Stepdown) -> None:
    feed = Feeding(broker.address, 1.5 * RATE)
    feed.start()
    rate = _held_rate(Consuming(broker, "held"))
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


def test_others_lose_nothing_by_it(broker: Stepdown) -> None:
    """What another producer offers is all taken, beside one that is held."""
    held = Producing(broker.address, "held")
    held.start()
    held.ends.wait(CYCLE_S)
    offered = 5 * RATE
    free = Feeding(broker.address, offered)
    free.start()
    free.ends.wait(1.0)
    rate = free.rate()
    for load in (held, free):
        load.ends.set()
        load.join()
    assert 0.98 * offered <= rate <= 1.02 * offered, f"{rate / 1e6:.2f} MB/s"
