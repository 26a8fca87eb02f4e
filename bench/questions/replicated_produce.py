"""What do three replicas in one process cost a producer with acks=all, against one broker with one replica?

    python bench/questions/replicated_produce.py                 # batches of 64,000, 16,000, 1,800 bytes
    python bench/questions/replicated_produce.py --bytes 16000 --in-flight 1

Both servers run throughout and take turns; 8 connections, 5 requests in flight unless told otherwise, 12 partitions,
all led by broker 1 of the cluster, since all of its brokers share one thread. Three replicas write three times as many
bytes.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from stepdown.bench.cases.producing import PARTITIONS, SETTINGS, ProduceGrid
from stepdown.bench.failures import BenchFailure
from stepdown.bench.load.filled_topics import await_leaders, create_topic, delete_topic
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.produce_and_fetch_requests import ProduceRequests
from stepdown.bench.servers.admin_connection import change
from stepdown.bench.servers.stepdown import Stepdown
from stepdown.client.operations.topics import NewTopic, create_topics

SECONDS, WARM_UP_S = 4.0, 1.0
TOPIC = "written"


class Cluster(Stepdown):
    """Three brokers in a process."""

    def _command(self) -> list[str]:
        return [*super()._command(), "--brokers", "3"]


def written(server: Stepdown, size: int, writing: ProduceRequests, seconds: float, load: LoadProcess) -> float:
    """MB/s that were acknowledged."""
    (case,) = ProduceGrid(batch_bytes=(size,)).cases()
    address = server.address.partition(",")[0]
    if isinstance(server, Cluster):
        change(
            address,
            create_topics([NewTopic(name=TOPIC, assignments=dict.fromkeys(range(PARTITIONS), (1, 2, 3)))]),
        )
        await_leaders(address, TOPIC, PARTITIONS)
    else:
        create_topic(address, TOPIC, PARTITIONS)
    result = load.run(writing.plan(address, TOPIC, case.filling, seconds))
    delete_topic(address, TOPIC)
    if result.errors or result.failure:
        raise BenchFailure(f"{server.log}\n{result.errors} errors, {result.failure}")
    return result.sent_bytes / result.seconds / 1e6


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, nargs="*", default=[64_000, 16_000, 1_800])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--in-flight", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args(arguments)
    writing = ProduceRequests(acks=-1, in_flight=given.in_flight)
    print("| batch bytes | 1 broker, 1 replica, MB/s | 3 brokers, 3 replicas, MB/s | ratio |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, LoadProcess() as load:
        one = Stepdown(Path(folder, "one"), properties=SETTINGS)
        three = Cluster(Path(folder, "three"), properties=SETTINGS)
        try:
            one.start()
            three.start()
            for size in given.bytes:
                measure(one, three, size, writing, given.turns, given.seconds, load)
        finally:
            one.kill()
            three.kill()


def measure(
    one: Stepdown, three: Stepdown, size: int, writing: ProduceRequests, turns: int, seconds: float, load: LoadProcess
) -> None:
    for server in (one, three):
        written(server, size, writing, WARM_UP_S, load)
    pairs = [[written(server, size, writing, seconds, load) for server in (one, three)] for _ in range(turns)]
    ratio = median(b / a for a, b in pairs)
    alone, replicated = (median(each) for each in zip(*pairs, strict=True))
    print(f"| {size:,} | {alone:.0f} | {replicated:.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BenchFailure as fault:
        sys.exit(str(fault))
