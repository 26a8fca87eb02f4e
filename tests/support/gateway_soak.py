"""Old and new clients through a gateway with two workers, to three nodes of Kafka 4.4.0:

    python -m support.gateway_soak SECONDS    # in tests/, by `make gateway-soak`

About 200 connections, a third of them of clients as old as 0.9. Every two minutes a broker is killed and started again,
every five minutes a worker of the gateway. Ends with an error when a record that was acknowledged is not there, or is
there twice though its producer is idempotent, when a reader misses a record or gets one twice, when a request is
neither answered nor its connection closed, so that a client does not come to its end, or when the other worker grew
after the first ten minutes (a third of a shorter run).
"""

import logging
import os
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Protocol
from urllib.request import urlopen

from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as OldTopicPartition
from stepdown.bench.servers.process import ProcessUsage, wait_until

from .cluster_writers import SETTINGS, NewWriter, OldWriter, Writer, bootstrap, create, ends_of, read_all
from .deadline import DEADLINE_S
from .gateway_process import GatewayProcess
from .gateway_workers import children_of
from .kafka_cluster import ApacheKafkaCluster

PARTITIONS = 6
OLD, NEW = "old", "new"
WRITERS = {OLD: 13, NEW: 26}
READERS = {OLD: 11, NEW: 16}
WRITE_EVERY_S = 0.2
POLL_S = 0.5
KILL_BROKER_S, KILL_WORKER_S = 120.0, 300.0
SETTLED_S = 600.0
MOST_GROWTH_BYTES = 16 << 20
Place = tuple[str, int]


class Reader(Protocol):
    """Reads all partitions of a topic from their beginning; `next_offsets`: behind the last record of each."""

    next_offsets: Counter[Place]

    def poll(self) -> None:
        """Takes what has come. Raises: AssertionError for a record that is not the next one."""
        ...

    def close(self) -> None: ...


class NewReader:
    """A consumer of librdkafka."""

    def __init__(self, address: str, topic: str) -> None:
        self.next_offsets: Counter[Place] = Counter()
        self._consumer = Consumer({"bootstrap.servers": address, "group.id": "soak", "enable.auto.commit": False})
        self._consumer.assign(partitions_of(topic))

    def poll(self) -> None:
        for message in self._consumer.consume(500, POLL_S):
            if message.error() is None:
                take(self.next_offsets, (message.topic() or "", message.partition() or 0), message.offset() or 0)

    def close(self) -> None:
        self._consumer.close()


class OldReader:
    """Speaks as clients of 0.9 do: Fetch 1, messages of magic 0."""

    def __init__(self, address: str, topic: str) -> None:
        self.next_offsets: Counter[Place] = Counter()
        self._consumer = KafkaConsumer(bootstrap_servers=address, api_version=(0, 9), group_id=None)
        assigned = [OldTopicPartition(topic, each) for each in range(PARTITIONS)]
        self._consumer.assign(assigned)
        for each in assigned:
            self._consumer.seek(each, 0)

    def poll(self) -> None:
        for place, records in self._consumer.poll(1000 * POLL_S).items():
            for record in records:
                take(self.next_offsets, (place.topic, place.partition), record.offset)

    def close(self) -> None:
        self._consumer.close()


def take(next_offsets: Counter[Place], place: Place, offset: int) -> None:
    assert offset == next_offsets[place], f"{place}: {offset} came where {next_offsets[place]} is the next one"
    next_offsets[place] = offset + 1


def partitions_of(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, each, 0) for each in range(PARTITIONS)]


class TimedOut(logging.Handler):
    """Counts what kafka-python says of requests that had no answer in 30 s."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        if "Request timed out" in record.getMessage():
            self.count += 1


class Crowd:
    """The clients, each in a thread of its own; `faults` has what went wrong in them."""

    def __init__(self, address: str) -> None:
        self.faults: list[BaseException] = []
        self.written: dict[str, set[bytes]] = {OLD: set(), NEW: set()}
        self.acknowledged: dict[str, set[bytes]] = {OLD: set(), NEW: set()}
        self._address = address
        self._is_over = threading.Event()
        self._ends: dict[Place, int] = {}
        self._has_ends = threading.Event()
        self._writing = [self._start(self._write, kind, number) for kind in WRITERS for number in range(WRITERS[kind])]
        self._reading = [self._start(self._read, kind, number) for kind in READERS for number in range(READERS[kind])]

    def finish(self, find_ends: Callable[[], dict[Place, int]]) -> None:
        """Returns when all is acknowledged or refused, and each reader is where `find_ends` says it ends."""
        self._is_over.set()
        for thread in self._writing:
            thread.join()
        self._ends = find_ends()
        self._has_ends.set()
        for thread in self._reading:
            thread.join()

    def _start(self, work: Callable[[str, int], None], kind: str, number: int) -> threading.Thread:
        def run() -> None:
            try:
                work(kind, number)
            except BaseException as fault:
                self.faults.append(fault)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _write(self, kind: str, number: int) -> None:
        writer: Writer = (OldWriter if kind == OLD else NewWriter)(self._address, kind)
        written = []
        while not self._is_over.wait(WRITE_EVERY_S):
            written.append(b"%d %d" % (number, len(written)))
            writer.write(written[-1])
        writer.finish()
        self.written[kind].update(written)
        self.acknowledged[kind].update(writer.acknowledged)

    def _read(self, kind: str, number: int) -> None:
        """Of each kind some read what the old have written, and some what the new have."""
        topic = (OLD, NEW)[number % 2]
        reader: Reader = (OldReader if kind == OLD else NewReader)(self._address, topic)
        deadline_s = float("inf")
        while not self._is_at_end(reader, topic):
            reader.poll()
            if self._has_ends.is_set():
                deadline_s = min(deadline_s, monotonic() + DEADLINE_S)
                assert monotonic() < deadline_s, f"a reader of {topic} is at {reader.next_offsets} of {self._ends}"
        reader.close()

    def _is_at_end(self, reader: Reader, topic: str) -> bool:
        ends = {place: end for place, end in self._ends.items() if place[0] == topic}
        return self._has_ends.is_set() and all(reader.next_offsets[place] >= end for place, end in ends.items())


def kill_in_turn(cluster: ApacheKafkaCluster, gateway: GatewayProcess, seconds: float, crowd: Crowd) -> int:
    """Kills brokers and a worker until the time is over; how much the other worker grew."""
    began, broker, baseline = monotonic(), 3, 0
    kept = children_of(gateway.pid)[0]
    dues = {"broker": KILL_BROKER_S, "worker": KILL_WORKER_S, "look": min(SETTLED_S, seconds / 3)}
    while not crowd.faults and (left_s := seconds - (monotonic() - began)) > 0:
        name = min(dues, key=lambda each: dues[each])
        wait_s = dues[name] - (monotonic() - began)
        threading.Event().wait(max(0.0, min(wait_s, left_s, POLL_S)))
        if wait_s > 0:
            continue
        if name == "broker":
            cluster.brokers[broker].kill()
            cluster.brokers[broker].start()
            broker = 5 - broker  # 3 and 2 in turn: 1 is the controller
            dues[name] += KILL_BROKER_S
        elif name == "worker":
            replace_worker(gateway, kept)
            dues[name] += KILL_WORKER_S
        else:
            baseline = ProcessUsage(kept).rss_bytes()
            dues[name] = float("inf")
        say(f"{monotonic() - began:.0f} s: {name}", gateway, kept)
    return ProcessUsage(kept).rss_bytes() - baseline


def replace_worker(gateway: GatewayProcess, kept: int) -> None:
    """Kills the other worker, and returns when there is a new one."""
    (other,) = (each for each in children_of(gateway.pid) if each != kept)
    os.kill(other, signal.SIGKILL)
    wait_until(lambda: set(children_of(gateway.pid)) - {kept, other}, "another worker", timeout_s=DEADLINE_S)


def say(what: str, gateway: GatewayProcess, kept: int) -> None:
    rss_mib = ProcessUsage(kept).rss_bytes() / (1 << 20)
    print(f"{what}; {count_connections(gateway)} connections, a worker has {rss_mib:.1f} MiB", flush=True)


def count_connections(gateway: GatewayProcess) -> int:
    with urlopen(f"http://{gateway.http}/metrics", timeout=DEADLINE_S) as page:
        lines = page.read().decode().splitlines()
    return round(sum(float(line.split()[-1]) for line in lines if line.startswith("stepdown_gateway_connections{")))


def check_records(cluster: ApacheKafkaCluster, crowd: Crowd) -> None:
    """Raises: AssertionError."""
    for topic, written in crowd.written.items():
        found = Counter(read_all(bootstrap(cluster), topic, PARTITIONS))
        acknowledged = crowd.acknowledged[topic]
        lost, twice = acknowledged - set(found), sum(count > 1 for count in found.values())
        print(f"{topic}: {len(written)} written, {len(acknowledged)} acknowledged, {len(lost)} lost, {twice} doubled")
        assert acknowledged, f"nothing was written to {topic}"
        assert not lost, sorted(lost)[:10]
        assert topic == OLD or not twice, "an idempotent producer has no duplicates"


@contextmanager
def serving(folder: Path) -> Iterator[tuple[ApacheKafkaCluster, GatewayProcess]]:
    """The cluster and the gateway in front of it, with both topics."""
    (folder / "gateway").mkdir()
    with (
        ApacheKafkaCluster(folder, SETTINGS, is_latest=True) as cluster,
        GatewayProcess(folder / "gateway", bootstrap(cluster), workers=2, refresh_interval_ms=1_000) as gateway,
    ):
        for topic in (OLD, NEW):
            create(gateway.address, topic, PARTITIONS)
        yield cluster, gateway


def find_ends(cluster: ApacheKafkaCluster) -> dict[Place, int]:
    return ends_of(bootstrap(cluster), [each for topic in (OLD, NEW) for each in partitions_of(topic)])


def main(arguments: Sequence[str]) -> None:
    seconds = float(arguments[0])
    timed_out = TimedOut()
    logging.getLogger("kafka").addHandler(timed_out)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (cluster, gateway):
        crowd = Crowd(gateway.address)
        growth = kill_in_turn(cluster, gateway, seconds, crowd)
        crowd.finish(lambda: find_ends(cluster))
        print(f"{timed_out.count} requests of kafka-python had no answer in 30 s")
        assert not crowd.faults, crowd.faults
        check_records(cluster, crowd)
        print(f"a worker grew by {growth / (1 << 20):.1f} MiB")
        assert growth < MOST_GROWTH_BYTES


if __name__ == "__main__":
    main(sys.argv[1:])
