"""What a client gets that is held to a rate, and what others have beside it; measured by bench/questions/times.py.

Kafka's rule, which stepdown follows, lets a client take what eleven windows of a second allow at once, and then little
until they have passed. So the rate over 30 s is taken for each beginning within such a cycle, and these are averaged.
"""

import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from confluent_kafka import Consumer, Producer, TopicPartition

from .broker import Stepdown
from .kafka_tools import KafkaTools

RATE = 1_000_000
CYCLE_S = 12.0
MEASURED_S = 30.0
STEP_S = 0.5
VALUE = bytes(10_000)
SMALL = bytes(1_000)


@contextmanager
def broker_with_quota(folder: Path) -> Iterator[Stepdown]:
    """A broker that holds the client `held` to `RATE`, with a topic."""
    with Stepdown(folder) as running:
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


def producer_rate(folder: Path) -> float:
    """Bytes a second that a producer has which is held to `RATE`."""
    with broker_with_quota(folder) as broker:
        return held_rate(Producing(broker.address, "held"))


def consumer_rate(folder: Path) -> float:
    """Bytes a second that a consumer has which is held to `RATE`, of a feed that is half as fast again."""
    with broker_with_quota(folder) as broker:
        feed = Feeding(broker.address, 1.5 * RATE)
        feed.start()
        rate = held_rate(Consuming(broker, "held"))
        feed.ends.set()
        feed.join()
        return rate


def held_rate(held: Load) -> float:
    held.start()
    held.ends.wait(2 * CYCLE_S)
    rate = held.rate()
    held.ends.set()
    held.join()
    return rate


def free_rate(folder: Path) -> float:
    """Bytes a second of a producer that offers 5 times `RATE` and is not held, beside one that is."""
    with broker_with_quota(folder) as broker:
        held = Producing(broker.address, "held")
        held.start()
        held.ends.wait(CYCLE_S)
        free = Feeding(broker.address, 5 * RATE)
        free.start()
        free.ends.wait(STEP_S)
        rate = free.rate()
        for load in (held, free):
            load.ends.set()
            load.join()
        return rate
