"""Does a server with more processors serve more compressed data? Old readers of LZ4, producers of LZ4, by processors.

    python bench/questions/processors.py                    # 1, 2 … as many as there are
    python bench/questions/processors.py --codec GZIP --batch-bytes 1000000 --clients 1

One server for each number of processors, held to them by taskset; all are up and take turns. Readers by Fetch v2 and
producers, 8 of each, and batches of JSON, of 16 kB, unless other numbers are given. The load takes part of a processor
itself, which the largest number has to share.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from stepdown.bench.cases.fetching import FetchGrid, reading, topic_of
from stepdown.bench.cases.producing import PARTITIONS, SETTINGS, ProduceGrid
from stepdown.bench.failures import BenchFailure
from stepdown.bench.load.filled_topics import create_topic, delete_topic, fill
from stepdown.bench.load.load_plan import LoadPlan
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.produce_and_fetch_requests import ProduceRequests
from stepdown.bench.load.result import LoadResult
from stepdown.bench.load.values import ValueKind
from stepdown.bench.servers.stepdown import Stepdown
from stepdown.protocol.records.layout import Codec

WARM_UP_S = 1.0
WRITTEN = "written"


class Pinned(Stepdown):
    """A broker that runs on the first `processors` processors."""

    def __init__(self, folder: Path, processors: int) -> None:
        super().__init__(folder, properties=SETTINGS)
        self.processors = processors

    def _command(self) -> list[str]:
        return ["taskset", "--cpu-list", f"0-{self.processors - 1}", *super()._command()]


class Question:
    """What all servers are asked."""

    def __init__(self, codec: Codec, batch_bytes: int, clients: int, load: LoadProcess) -> None:
        grid = FetchGrid(
            batch_bytes=(batch_bytes,),
            record_bytes=(600,),
            codecs=(codec,),
            versions=(2,),
            readers=(clients,),
            data=(ValueKind.JSON,),
        )
        (self._filling,) = grid.fillings()
        (self._reading,) = grid.cases(self._filling)
        (self._writing,) = ProduceGrid(batch_bytes=(batch_bytes,), codecs=(codec,), data=(ValueKind.JSON,)).cases()
        self._clients = clients
        self._load = load

    def prepare(self, server: Stepdown) -> None:
        fill(server.address, topic_of(self._filling), self._filling, self._load)

    def read(self, server: Stepdown, seconds: float) -> float:
        """MB/s that came."""
        result = self._run(server, reading(server.address, self._reading, self._filling, seconds))
        return result.received_bytes / result.seconds / 1e6

    def write(self, server: Stepdown, seconds: float) -> float:
        """MB/s that were acknowledged."""
        create_topic(server.address, WRITTEN, PARTITIONS)
        plan = ProduceRequests(connections=self._clients).plan(server.address, WRITTEN, self._writing.filling, seconds)
        result = self._run(server, plan)
        delete_topic(server.address, WRITTEN)
        return result.sent_bytes / result.seconds / 1e6

    def _run(self, server: Stepdown, plan: LoadPlan) -> LoadResult:
        result = self._load.run(plan)
        if result.errors or result.failure:
            raise BenchFailure(f"{server.log}\n{result.errors} errors, {result.failure}")
        return result


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codec", choices=[codec.name for codec in Codec], default=Codec.LZ4.name)
    parser.add_argument("--batch-bytes", type=int, default=16_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args(arguments)
    print(f"| processors | old readers ({given.clients}), MB/s | producers ({given.clients}), MB/s |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, LoadProcess() as load:
        servers = [Pinned(Path(folder, str(count)), count) for count in range(1, (os.cpu_count() or 1) + 1)]
        try:
            for server in servers:
                server.start()
            question = Question(Codec[given.codec], given.batch_bytes, given.clients, load)
            compare(servers, question, given.turns, given.seconds)
        finally:
            for server in servers:
                server.kill()


def compare(servers: Sequence[Pinned], question: Question, turns: int, seconds: float) -> None:
    for server in servers:
        question.prepare(server)
        question.read(server, WARM_UP_S)
        question.write(server, WARM_UP_S)
    reads = [[question.read(server, seconds) for server in servers] for _ in range(turns)]
    writes = [[question.write(server, seconds) for server in servers] for _ in range(turns)]
    for server, read, written in zip(servers, zip(*reads, strict=True), zip(*writes, strict=True), strict=True):
        print(f"| {server.processors} | {median(read):.0f} | {median(written):.0f} |", flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BenchFailure as fault:
        sys.exit(str(fault))
