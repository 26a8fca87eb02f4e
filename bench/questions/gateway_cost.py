"""What does `stepdown gateway` cost, beside no proxy and beside one that looks at nothing?

    python bench/questions/gateway_cost.py                     # by `make gateway-cost`
    python bench/questions/gateway_cost.py --connections 2000  # memory a connection, with one worker and with two

Behind them is one Kafka 4.4.0, on the same machine (it needs Java, and haproxy of Debian). Two tables:

    passed        Produce requests of a modern client, of 1.8 kB and 64 kB, directly, through HAProxy in TCP mode with
                  one thread, and through the gateway: 8 connections, 5 in flight, as fast as they can; then one in
                  flight at a fixed rate, for the latencies
    translated    Fetch 2 through the gateway, and of a stepdown broker that has the same records in its own log

Rounds are interleaved; the figures are medians. CPU is that of the proxy, or of stepdown's broker, alone.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import fmean, median
from typing import Any

from stepdown.bench.alternating_runs import SHORTEST_CPU_S, quantile
from stepdown.bench.failures import BenchFailure
from stepdown.bench.load.filled_topics import create_topic, delete_topic, fill
from stepdown.bench.load.load_plan import Asking, ConnectionRequests, LoadPlan
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.produce_and_fetch_requests import Filling, ProduceRequests, check_fetch, fetch_request
from stepdown.bench.load.result import LoadResult
from stepdown.bench.servers.admin_connection import Connection, frame_of
from stepdown.bench.servers.haproxy import HaProxy
from stepdown.bench.servers.kafka import KafkaServer
from stepdown.bench.servers.maven import STDERR_LOG
from stepdown.bench.servers.process import ProcessUsage
from stepdown.bench.servers.stepdown import Stepdown
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.records.layout import Codec

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.gateway_process import GatewayProcess  # type: ignore[import-not-found]
from support.gateway_workers import children_of  # type: ignore[import-not-found]
from support.kafka_4 import LATEST  # type: ignore[import-not-found]
from support.maven import JARS  # type: ignore[import-not-found]

PARTITIONS = 12
REQUEST_BYTES = (1_800, 64_000)
RATES = {1_800: 1_000, 64_000: 200}
"""Requests a second for the latencies, of all connections together."""
CONNECTIONS = 8
FASTEST = ProduceRequests(connections=CONNECTIONS, in_flight=5)
CODECS = (Codec.NONE, Codec.LZ4)
OLD_FETCH, FETCH_BYTES, OLD_READERS = 2, 512 << 10, 4
WARM_UP_S = 10.0
SETTLE_S = 0.5
KAFKA_SETTINGS = {"log.segment.delete.delay.ms": "100", "num.network.threads": "3", "num.io.threads": "8"}
TOPIC_CONFIGS = {"segment.bytes": str(64 << 20)}


class Kafka4(KafkaServer):
    """Kafka as its own script starts it."""

    version = LATEST

    def _jars(self) -> tuple[Path, ...]:
        return self._store.class_path(f"org.apache.kafka:kafka_2.13:{self.version}", STDERR_LOG)


@dataclass(frozen=True, slots=True)
class ClientPath:
    """How a client reaches a broker. `pids` of what is measured on it, none for a direct connection."""

    name: str
    address: str
    pids: Sequence[int] = ()

    def cpu_seconds(self) -> float:
        return sum(ProcessUsage(pid).cpu_seconds() for pid in self.pids)

    def rss_bytes(self) -> int:
        return sum(ProcessUsage(pid).rss_bytes() for pid in self.pids)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took."""

    mb_a_s: float
    cpu_ms_a_mb: float
    average_ms: float
    p99_ms: float


class LoadRunner:
    """Runs plans on ways."""

    def __init__(self, load: LoadProcess) -> None:
        self.load = load
        self._numbers = count(1)

    def run(self, way: ClientPath, plan: LoadPlan, moved: Callable[[LoadResult], int]) -> Cost:
        """Raises: BenchFailure."""
        self.load.prepare(plan)
        before = way.cpu_seconds()
        self.load.start_load()
        result = self.load.result()
        cpu_s = way.cpu_seconds() - before
        if result.errors:
            raise BenchFailure(f"{result.errors} of {result.responses} requests were refused by {way.name}")
        megabytes, latencies = moved(result) / 1e6, sorted(result.latencies_s)
        return Cost(
            megabytes / result.seconds,
            1000 * max(cpu_s, SHORTEST_CPU_S if way.pids else 0.0) / megabytes,
            1000 * fmean(latencies),
            1000 * quantile(latencies, 0.99),
        )

    def produce(self, way: ClientPath, kafka: str, writing: ProduceRequests, size: int, seconds: float) -> Cost:
        """To a topic of its own, which is deleted."""
        topic = f"written-{next(self._numbers)}"
        create_topic(kafka, topic, PARTITIONS, TOPIC_CONFIGS)
        try:
            plan = writing.plan(way.address, topic, batches_of_size(size), seconds)
            return self.run(way, plan, lambda result: result.sent_bytes)
        finally:
            delete_topic(kafka, topic)
            time.sleep(SETTLE_S)

    def fetch(self, way: ClientPath, topic: str, seconds: float) -> Cost:
        request = fetch_request({topic: 1}, partition_bytes=FETCH_BYTES, most_bytes=FETCH_BYTES)
        check_fetch(way.address, request, OLD_FETCH)
        plan = LoadPlan(
            address=way.address,
            connections=(ConnectionRequests(requests=(frame_of(request, OLD_FETCH),)),) * OLD_READERS,
            asking=Asking(kind="fetch", client=f"fetch-v{OLD_FETCH}", partitions=1),
            seconds=seconds,
        )
        return self.run(way, plan, lambda result: result.received_bytes)


def batches_of_size(size: int) -> Filling:
    return Filling(partitions=PARTITIONS, partition_bytes=size, record_bytes=600, batch_bytes=size)


def paced_requests(size: int) -> ProduceRequests:
    return ProduceRequests(connections=CONNECTIONS, in_flight=1, pace_s=CONNECTIONS / RATES[size])


def medians(rounds: Mapping[str, Sequence[Cost]]) -> dict[str, Cost]:
    return {
        name: Cost(*(median(values) for values in zip(*map(_values_of_cost, costs), strict=True)))
        for name, costs in rounds.items()
    }


def _values_of_cost(cost: Cost) -> tuple[float, float, float, float]:
    return cost.mb_a_s, cost.cpu_ms_a_mb, cost.average_ms, cost.p99_ms


def print_passed(runner: LoadRunner, ways: Sequence[ClientPath], kafka: str, rounds: int, seconds: float) -> None:
    print(f"\n| Produce, {CONNECTIONS} connections | MB/s | CPU ms a MB | MB a CPU s | average ms | p99 ms |")
    print("|---|---|---|---|---|---|")
    for size in REQUEST_BYTES:
        fastest, at_rate = defaultdict(list), defaultdict(list)
        runner.produce(ways[0], kafka, FASTEST, size, WARM_UP_S)
        for _ in range(rounds):
            for way in ways:
                fastest[way.name].append(runner.produce(way, kafka, FASTEST, size, seconds))
                at_rate[way.name].append(runner.produce(way, kafka, paced_requests(size), size, seconds))
        latencies = medians(at_rate)
        for name, cost in medians(fastest).items():
            latency = f"{latencies[name].average_ms:.2f} | {latencies[name].p99_ms:.2f}"
            print(f"| {size / 1000:g} kB, {name} | {cost.mb_a_s:.0f} | {_cpu_of(cost)} | {latency} |", flush=True)
    print(f"\nLatencies at {', '.join(f'{RATES[size]} requests of {size / 1000:g} kB' for size in RATES)} a second.")


def _cpu_of(cost: Cost) -> str:
    return f"{cost.cpu_ms_a_mb:.2f} | {1000 / cost.cpu_ms_a_mb:.0f}" if cost.cpu_ms_a_mb else "– | –"


def print_translated(
    runner: LoadRunner, kafka: str, gateway: ClientPath, own: ClientPath, rounds: int, seconds: float
) -> None:
    print(f"\n| Fetch {OLD_FETCH}, {OLD_READERS} readers | MB/s | CPU ms a MB | MB a CPU s | average ms | p99 ms |")
    print("|---|---|---|---|---|---|")
    for codec in CODECS:
        filling = Filling(partitions=1, partition_bytes=4 << 20, record_bytes=1000, codec=codec)
        topic = f"read-{codec.name.lower()}"
        costs = defaultdict(list)
        for address in (kafka, own.address):
            fill(address, topic, filling, runner.load)
        for way in (gateway, own):
            runner.fetch(way, topic, 1.0)
        for _ in range(rounds):
            for way in (gateway, own):
                costs[way.name].append(runner.fetch(way, topic, seconds))
        for name, cost in medians(costs).items():
            latency = f"{cost.average_ms:.2f} | {cost.p99_ms:.2f}"
            print(f"| {codec.name.lower()}, {name} | {cost.mb_a_s:.0f} | {_cpu_of(cost)} | {latency} |", flush=True)


def print_costs(folder: Path, rounds: int, seconds: float) -> None:
    with ExitStack() as opened:
        kafka = opened.enter_context(running_kafka(folder / "kafka"))
        load = opened.enter_context(LoadProcess())
        haproxy = HaProxy(folder / "haproxy", kafka)
        opened.callback(haproxy.kill)
        haproxy.start()
        gateway = opened.enter_context(running_gateway(folder / "gateway", kafka))
        own = Stepdown(folder)
        opened.callback(own.kill)
        own.start()
        runner = LoadRunner(load)
        ways = (ClientPath("directly", kafka), ClientPath("HAProxy", haproxy.address, (haproxy.pid,)), gateway)
        print_passed(runner, ways, kafka, rounds, seconds)
        print_translated(
            runner, kafka, gateway, ClientPath("stepdown's own log", own.address, (own.pid,)), rounds, seconds
        )


def print_scale(folder: Path, connections: int, seconds: float) -> None:
    """Half of the connections send a request of 1.8 kB a second, the others have asked who is there and are silent."""
    print("\n| workers | kB a connection | 1.8 kB a second: average ms | p99 ms | 64 kB, 8 more: MB/s | p99 ms |")
    print("|---|---|---|---|---|---|")
    with running_kafka(folder / "kafka") as kafka, LoadProcess() as load, LoadProcess() as more:
        for workers in (1, 2):
            with running_gateway(folder / f"gateway-{workers}", kafka, workers=workers) as way:
                row = measure_scale_row(way, kafka, connections, seconds, load, LoadRunner(more))
                print(f"| {workers} | {row} |", flush=True)


def measure_scale_row(
    way: ClientPath, kafka: str, connections: int, seconds: float, load: LoadProcess, runner: LoadRunner
) -> str:
    runner.produce(way, kafka, FASTEST, 1_800, 1.0)
    topic, busy = f"scale-{len(way.pids)}", connections // 2
    create_topic(kafka, topic, PARTITIONS, TOPIC_CONFIGS)
    before = way.rss_bytes()
    writing = ProduceRequests(connections=busy, in_flight=1, pace_s=1.0)
    with ExitStack() as opened:
        for _ in range(connections - busy):
            idle = Connection(way.address)
            opened.callback(idle.close)
            idle.call(ApiVersionsRequest(), 0)
            idle.call(MetadataRequest(topics=()), 1)
        load.prepare(writing.plan(way.address, topic, batches_of_size(1_800), 2 * seconds))
        load.start_load()
        time.sleep(seconds)
        a_connection = (way.rss_bytes() - before) / connections / 1000
        large = runner.produce(way, kafka, FASTEST, 64_000, seconds / 2)
        result = load.result()
    latencies = sorted(result.latencies_s)
    small = f"{1000 * fmean(latencies):.2f} | {1000 * quantile(latencies, 0.99):.2f}"
    return f"{a_connection:.1f} | {small} | {large.mb_a_s:.0f} | {large.p99_ms:.2f}"


@contextmanager
def running_kafka(folder: Path) -> Iterator[str]:
    """The address of a Kafka 4.4.0."""
    kafka = Kafka4(folder, JARS, properties=KAFKA_SETTINGS)
    try:
        kafka.start()
        yield kafka.address
    finally:
        kafka.kill()


@contextmanager
def running_gateway(folder: Path, kafka: str, **settings: Any) -> Iterator[ClientPath]:
    folder.mkdir()
    with GatewayProcess(folder, kafka, **settings) as gateway:
        yield ClientPath("gateway", gateway.address, (gateway.pid, *children_of(gateway.pid)))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--connections", type=int, default=0)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if given.connections:
            print_scale(Path(folder), given.connections, given.seconds)
        else:
            print_costs(Path(folder), given.rounds, given.seconds)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BenchFailure as fault:
        sys.exit(str(fault))
