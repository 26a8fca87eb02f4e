"""How many instructions does a record take? A count that a busy machine does not blur, held against the last one kept.

    python bench/questions/instructions.py            # compare with docs/results/instructions.json
    python bench/questions/instructions.py --keep     # write that file
    python bench/questions/instructions.py ROW …      # these rows only

Each row is a broker and one client in one process, run twice with different numbers of requests; the difference between
the two, for each record, leaves the start out. The client's own send and receive calls are in it. Instructions in user
space are counted by `perf stat` where the machine has the counter, else by valgrind's callgrind (which hides AVX-512
from the program, so what the two count is kept apart). What moved by more than 3 % is named; the status is 1 then.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

KEPT = Path(__file__).parents[2] / "docs" / "results" / "instructions.json"
MOVED = 0.03
FEW, MANY = 20, 60
"""Requests of the two runs."""
TOPIC = "counted"
IN_FLIGHT = 5
FETCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One load. `fetch` is a version of Fetch, None where records are produced (`partitions` of them a request)."""

    batch_bytes: int
    record_bytes: int
    codec: str = "NONE"
    data: str = "json"
    partitions: int = 1
    fetch: int | None = None


ROWS = {
    "produce 1.8 kB": Row(batch_bytes=1_800, record_bytes=600),
    "produce 1.8 kB, 4 partitions": Row(batch_bytes=1_800, record_bytes=600, partitions=4),
    "produce 16 kB": Row(batch_bytes=16_000, record_bytes=600),
    "produce 64 kB": Row(batch_bytes=64_000, record_bytes=600),
    "produce 16 kB lz4": Row(batch_bytes=16_000, record_bytes=600, codec="LZ4"),
    "produce 16 kB snappy": Row(batch_bytes=16_000, record_bytes=600, codec="SNAPPY"),
    "produce 16 kB gzip": Row(batch_bytes=16_000, record_bytes=600, codec="GZIP"),
    "fetch 1 kB v2 as it is": Row(batch_bytes=16_000, record_bytes=1_000, fetch=4),
    "fetch 1 kB v2 to v1": Row(batch_bytes=16_000, record_bytes=1_000, fetch=2),
    "fetch 100 B v2 to v1": Row(batch_bytes=16_000, record_bytes=100, fetch=2),
    "fetch lz4 v2 to v1": Row(batch_bytes=16_000, record_bytes=600, codec="LZ4", fetch=2),
    "fetch snappy v2 to v1": Row(batch_bytes=16_000, record_bytes=600, codec="SNAPPY", fetch=2),
    "fetch gzip v2 to v1": Row(batch_bytes=16_000, record_bytes=600, codec="GZIP", fetch=2),
}

# The run that is counted


def run(row: Row, requests: int) -> None:
    """Prints how many records went through in `requests` requests."""
    import uvloop

    with tempfile.TemporaryDirectory() as folder:
        print(uvloop.run(_run(row, requests, folder)))


async def _run(row: Row, requests: int, folder: str) -> int:
    from stepdown.broker.broker import Broker
    from stepdown.config import load

    given = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": folder, "num.partitions": "4"}
    loaded = load(overrides=[f"{key}={value}" for key, value in given.items()])
    broker = Broker(loaded.settings, loaded.layers)
    await broker.start()
    await broker.topics.ensure(TOPIC)
    try:
        client = await Client.connect(broker.address.host, broker.address.port)
        batch, records = batch_of(row)
        if row.fetch is None:
            await client.ask(produce_frame(row, batch), requests)
            return requests * row.partitions * records
        stored = max(1, FETCH_BYTES // len(batch))
        await client.ask(produce_frame(row, batch), stored)
        await client.ask(fetch_frame(row.fetch), requests)
        return requests * stored * records
    finally:
        client.close()
        await broker.stop()


def batch_of(row: Row) -> tuple[bytes, int]:
    """A batch of about `batch_bytes` of values, and its records."""
    from stepdown.bench.load.values import Data, values
    from stepdown.protocol.records.builder import build_batch
    from stepdown.protocol.records.layout import Codec
    from stepdown.protocol.records.record import Record

    count, now = max(1, row.batch_bytes // row.record_bytes), time.time_ns() // 1_000_000
    made = islice(values(Data(row.data), row.record_bytes), count)
    records = [Record(offset=at, timestamp=now, key=None, value=value) for at, value in enumerate(made)]
    return build_batch(records, codec=Codec[row.codec]), count


def produce_frame(row: Row, batch: bytes) -> bytes:
    from stepdown.bench.load.admin_connection import frame_of
    from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

    data = tuple(PartitionProduceData(index=index, records=batch) for index in range(row.partitions))
    topic = TopicProduceData(name=TOPIC, partition_data=data)
    return frame_of(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=(topic,)), 9)


def fetch_frame(version: int) -> bytes:
    from stepdown.bench.load.admin_connection import frame_of
    from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=FETCH_BYTES)
    topic = FetchTopic(topic=TOPIC, partitions=(wanted,))
    return frame_of(FetchRequest(max_wait_ms=0, min_bytes=1, topics=(topic,)), version)


class Client:
    """One connection in the broker's own loop: some requests in flight, answers counted by their size fields."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, host: str, port: int) -> "Client":
        return cls(*await asyncio.open_connection(host, port, limit=4 << 20))

    async def ask(self, frame: bytes, requests: int) -> None:
        """Sends the same request so often; returns when all are answered."""
        sent = min(IN_FLIGHT, requests)
        self._writer.write(frame * sent)
        for _ in range(requests):
            size = int.from_bytes(await self._reader.readexactly(4), "big")
            await self._reader.readexactly(size)
            if sent < requests:
                self._writer.write(frame)
                sent += 1

    def close(self) -> None:
        self._writer.close()


# The counters

Counter = Callable[[list[str]], tuple[int, int]]
"""Runs a command; instructions, and the number that it printed."""
_COLLECTED = re.compile(r"Collected : (\d+)")


def by_perf(command: list[str]) -> tuple[int, int]:
    with tempfile.NamedTemporaryFile("r") as counted:
        stat = ["perf", "stat", "-x", ",", "-e", "instructions:u", "-o", counted.name]
        done = subprocess.run([*stat, *command], capture_output=True, text=True, check=True, env=_environment())
        row = next(line for line in counted if "instructions" in line)
    return int(row.split(",")[0]), int(done.stdout)


def by_callgrind(command: list[str]) -> tuple[int, int]:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*valgrind, *command], capture_output=True, text=True, env=_environment())
    found = _COLLECTED.search(done.stderr)
    if done.returncode or found is None:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return int(found[1]), int(done.stdout)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": "0"}


def counter() -> tuple[str, Counter]:
    """What this machine has to count with, and its name."""
    if shutil.which("perf"):
        tried = subprocess.run(["perf", "stat", "-e", "instructions:u", "true"], capture_output=True, text=True)
        if tried.returncode == 0 and "not supported" not in tried.stderr:
            return "perf", by_perf
    if shutil.which("valgrind"):
        return "callgrind", by_callgrind
    print("skipped: neither perf with an instructions counter nor valgrind is here")
    raise SystemExit(0)


def count_rows(names: list[str], count: Counter) -> Iterator[tuple[str, float]]:
    """(row, instructions a record)."""
    runs = [(name, requests) for name in names for requests in (FEW, MANY)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(
            lambda run: count([sys.executable, __file__, "--run", run[0], "--requests", str(run[1])]), runs
        )
        for name in names:
            (few, few_records), (many, many_records) = next(counts), next(counts)
            yield name, (many - few) / (many_records - few_records)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rows", nargs="*", metavar="ROW", help="all of them if none is named")
    options.add_argument("--keep", action="store_true", help="keep what is counted as what later runs compare with")
    options.add_argument("--run", help=argparse.SUPPRESS)
    options.add_argument("--requests", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.run:
        run(ROWS[given.run], given.requests)
        return
    if unknown := set(given.rows) - set(ROWS):
        options.error(f"no row is named {', '.join(unknown)}; there are: {', '.join(ROWS)}")
    means, count = counter()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    before, now, moved = kept.get(means, {}), {}, []
    print(f"user-space instructions a record, by {means}")
    for name, instructions in count_rows(given.rows or list(ROWS), count):
        now[name] = round(instructions)
        change = instructions / before[name] - 1 if name in before else 0.0
        told = f"{change:+.1%}" if name in before else "new"
        print(f"{name:30} {instructions:12,.0f}  {told}", flush=True)
        if abs(change) > MOVED:
            moved.append(f"{name} ({told})")
    if given.keep:
        KEPT.write_text(json.dumps({**kept, means: {**before, **now}}, indent=2) + "\n")
    elif moved:
        raise SystemExit(f"moved by more than {MOVED:.0%}: {', '.join(moved)}")


if __name__ == "__main__":
    main()
