"""Compares the speed of two checkouts, or of one and Kafka, in alternating runs on a shared machine.

    python bench/questions/checkout_comparison.py kafka . --size 10000
    python bench/questions/checkout_comparison.py ../before . --readers 8 --rounds 20 --seconds 0.7

All servers are up, each over its own copy of the same records, and are loaded for a moment one after the other, the
first of a round being another each time: what the machine's neighbours do hits all of them. SERVER: `kafka` (3.9.1), or
a checkout that is set up (`make setup`), with settings behind it if need be. Prints the median of all turns, and the
median and quartiles of the ratios to the first server in the same round. Load as in `stepdown bench fetch`.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles

from stepdown.bench.cases.fetching import PARTITION_FETCH_BYTES, SETTINGS, FetchGrid, reading, topic_of
from stepdown.bench.load.filled_topics import fill
from stepdown.bench.load.load_plan import LoadPlan
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.produce_and_fetch_requests import BATCH_BYTES
from stepdown.bench.load.values import ValueKind
from stepdown.bench.servers.contenders import Contender
from stepdown.bench.servers.kafka import KafkaServer
from stepdown.bench.servers.maven import user_store
from stepdown.bench.servers.stepdown import Stepdown
from stepdown.protocol.records.layout import Codec

JVM_WARM_UP_S = 8.0


class Checkout(Stepdown):
    """The stepdown of a working tree, run by its own environment."""

    def __init__(self, folder: Path, name: str) -> None:
        tree, *settings = name.split(":")
        super().__init__(folder, properties=SETTINGS | dict(each.split("=", 1) for each in settings))
        self._tree = Path(tree).resolve()

    def _command(self) -> list[str]:
        return ["env", "-C", str(self._tree), str(self._tree / ".venv/bin/python"), *super()._command()[1:]]


def server_of(name: str, folder: Path) -> Contender:
    folder.mkdir()
    if name == "kafka":
        return KafkaServer(folder, user_store(), properties=SETTINGS, heap="1g")
    return Checkout(folder, name)


def turn(server: Contender, load: LoadProcess, plan: LoadPlan, seconds: float) -> tuple[float, float]:
    """MB a CPU second of the server, and MB/s."""
    load.prepare(replace(plan, seconds=seconds))
    before = server.usage.cpu_seconds()
    load.start_load()
    result = load.result()
    mb = result.received_bytes / 1e6
    return mb / (server.usage.cpu_seconds() - before), mb / result.seconds


def compare(names: Sequence[str], servers: Sequence[Contender], given: argparse.Namespace) -> None:
    """Prints a line for each server."""
    grid = FetchGrid(
        record_bytes=(given.size,),
        codecs=(Codec[given.codec.upper()],),
        versions=(given.version,),
        readers=(given.readers,),
        data=(ValueKind(given.data),),
        batch_bytes=(given.batch_bytes,),
        partition_fetch_bytes=given.partition_fetch_bytes,
    )
    (filling,) = grid.fillings()
    (case,) = grid.cases(filling)
    turns: list[list[tuple[float, float]]] = [[] for _ in servers]
    with LoadProcess() as load:
        plans = []
        for name, server in zip(names, servers, strict=True):
            server.start()
            fill(server.address, topic_of(filling), filling, load)
            plans.append(reading(server.address, case, filling, given.seconds))
            turn(server, load, plans[-1], JVM_WARM_UP_S if name == "kafka" else 1.0)
        for number in range(given.rounds):
            for each in range(len(servers)):
                at = (number + each) % len(servers)
                turns[at].append(turn(servers[at], load, plans[at], given.seconds))
    for name, found in zip(names, turns, strict=True):
        line = f"{name:30}"
        for what, unit in enumerate(("MB/CPU s", "MB/s")):
            ratios = [one[what] / first[what] for one, first in zip(found, turns[0], strict=True)]
            low, middle, high = quantiles(ratios, method="inclusive")
            line += f"  {median(one[what] for one in found):6.0f} {unit} x{middle:.2f} ({low:.2f} to {high:.2f})"
        print(line)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="SERVER")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--data", default=ValueKind.LETTERS)
    parser.add_argument("--batch-bytes", type=int, default=BATCH_BYTES)
    parser.add_argument("--partition-fetch-bytes", type=int, default=PARTITION_FETCH_BYTES)
    parser.add_argument("--version", type=int, default=2)
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        servers = [server_of(name, Path(folder) / str(number)) for number, name in enumerate(given.servers)]
        try:
            compare(given.servers, servers, given)
        finally:
            for server in servers:
                server.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
