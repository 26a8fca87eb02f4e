"""How many instructions does a record take? A count that a busy machine does not blur, held against the last one kept.

    python bench/questions/instructions.py            # compare with docs/results/instructions.json
    python bench/questions/instructions.py --keep     # write that file
    python bench/questions/instructions.py ROW …      # these rows only

Each row is a broker that is counted and a client that is not, in two processes, run twice with different numbers of
requests; the difference between the two, for each record, leaves the start out. One request is in flight, and the
broker always waits for it; its clock stands still, nobody looks ten times a second whether its loop is late, and only
new objects are garbage-collected, so that the count is the same on a busy machine.
Instructions in user space are counted by `perf stat` where the machine has the counter, else by valgrind's callgrind
(which hides AVX-512 from the program). What moved by more than 3 % is named; the status is 1 then. Figures are kept for
a counter, a build of Python and a processor, since another of them moves rows by up to a fifth: elsewhere, keep those
of the commit before first.
"""

import argparse
import asyncio
import gc
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

KEPT = Path(__file__).parents[2] / "docs" / "results" / "instructions.json"
MOVED = 0.03
FEW = 20
"""Requests of the shorter run."""
TOPIC = "counted"
FETCH_BYTES = 1 << 20
PAUSE_S = 0.02
"""Before each request: one that is there already needs no pass of the loop."""
NEVER_S = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One load. `fetch` is a version of Fetch, None where records are produced (`partitions` of them a request)."""

    batch_bytes: int
    record_bytes: int
    codec: str = "NONE"
    data: str = "json"
    partitions: int = 1
    fetch: int | None = None

    @property
    def many(self) -> int:
        """Requests of the longer run: enough that what a broker does every second is little beside them."""
        return FEW + (400 if self.fetch is None else 60)


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

# The broker, which is counted


def serve() -> None:
    """Prints the port of a new broker, which ends with standard input."""
    import uvloop

    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(_serve(folder))


async def _serve(folder: str) -> None:
    from stepdown.broker.broker import Broker
    from stepdown.broker.metrics import loop_delay
    from stepdown.broker.scheduling.movable_clock import MovableClock
    from stepdown.config import load
    from stepdown.network import loop_watch

    loop_watch.LOOK_S, loop_delay.INTERVAL_MS = NEVER_S, int(NEVER_S * 1000)
    clock = MovableClock()
    clock.pause()
    given = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": folder,
        "num.partitions": "4",
        "socket.receive.buffer.bytes": "1048576",  # or a request of 64 kB comes in one piece or two, as it happens
    }
    loaded = load(overrides=[f"{key}={value}" for key, value in given.items()])
    broker = Broker(loaded.settings, loaded.layers, clock=clock)
    await broker.start()
    await broker.topics.ensure(TOPIC)
    gc.freeze()
    print(broker.address.port, flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()
    await broker.stop()


# The client, which is not


def send_requests(row: Row, requests: int, port: int) -> int:
    """Sends `requests` requests of the row; returns how many records they wrote or read."""
    batch, records = batch_of(row)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        if row.fetch is None:
            ask(connection, produce_frame(row, batch), requests)
            return requests * row.partitions * records
        stored = max(1, FETCH_BYTES // len(batch))
        ask(connection, produce_frame(row, batch), stored)
        ask(connection, fetch_frame(row.fetch), requests)
        return requests * stored * records


def ask(connection: socket.socket, frame: bytes, requests: int) -> None:
    """Sends the same request `requests` times, each after the answer to the one before."""
    answers = connection.makefile("rb")
    for _ in range(requests):
        time.sleep(PAUSE_S)
        connection.sendall(frame)
        answers.read(int.from_bytes(answers.read(4), "big"))


def batch_of(row: Row) -> tuple[bytes, int]:
    """A batch of about `batch_bytes` of values, and its records."""
    from stepdown.bench.load.values import ValueKind, make_values
    from stepdown.protocol.records.builder import build_batch
    from stepdown.protocol.records.layout import Codec
    from stepdown.protocol.records.record import Record

    count, now = max(1, row.batch_bytes // row.record_bytes), time.time_ns() // 1_000_000
    made = islice(make_values(ValueKind(row.data), row.record_bytes), count)
    records = [Record(offset=at, timestamp=now, key=None, value=value) for at, value in enumerate(made)]
    return build_batch(records, codec=Codec[row.codec]), count


def produce_frame(row: Row, batch: bytes) -> bytes:
    from stepdown.bench.servers.admin_connection import frame_of
    from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

    data = tuple(PartitionProduceData(index=index, records=batch) for index in range(row.partitions))
    topic = TopicProduceData(name=TOPIC, partition_data=data)
    return frame_of(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=(topic,)), 9)


def fetch_frame(version: int) -> bytes:
    from stepdown.bench.servers.admin_connection import frame_of
    from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=FETCH_BYTES)
    topic = FetchTopic(topic=TOPIC, partitions=(wanted,))
    return frame_of(FetchRequest(max_wait_ms=0, min_bytes=1, topics=(topic,)), version)


# The counters


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """Counts the instructions of the command that is put behind `command`; `found` finds the figure in what it says."""

    name: str
    command: tuple[str, ...]
    found: re.Pattern[str]

    def count(self, row: Row, requests: int) -> tuple[int, int]:
        """(instructions of the broker, records)"""
        served = [*self.command, sys.executable, __file__, "--serve"]
        pipe = subprocess.PIPE
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        with subprocess.Popen(served, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as broker:
            assert broker.stdout is not None
            port = broker.stdout.readline()
            records = send_requests(row, requests, int(port)) if port else 0
            _, told = broker.communicate()
        counted = self.found.search(told)
        if broker.returncode or counted is None:
            raise SystemExit(f"{' '.join(served)} failed:\n{told[-2000:]}")
        return int(counted[1]), records


PERF = Counter(
    name="perf",
    command=("perf", "stat", "-x", ",", "-e", "instructions:u"),
    found=re.compile(r"^(\d+),.*instructions", re.MULTILINE),
)
CALLGRIND = Counter(
    name="callgrind",
    command=("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"),
    found=re.compile(r"Collected : (\d+)"),
)


def counter() -> Counter:
    """What this machine has to count with."""
    if shutil.which("perf"):
        tried = subprocess.run([*PERF.command, "true"], capture_output=True, text=True)
        if tried.returncode == 0 and PERF.found.search(tried.stderr):
            return PERF
    if shutil.which("valgrind"):
        return CALLGRIND
    print("skipped: neither perf with an instructions counter nor valgrind is here")
    raise SystemExit(0)


def counted_with(counter: Counter) -> str:
    """What figures depend on besides the code."""
    found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    processor = found[1] if found else platform.machine()
    return f"{counter.name}, Python {platform.python_version()} of {platform.python_build()[1]}, {processor}"


def count_rows(names: list[str], counter: Counter) -> Iterator[tuple[str, float]]:
    """(row, instructions a record)."""
    runs = [(ROWS[name], requests) for name in names for requests in (FEW, ROWS[name].many)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda run: counter.count(*run), runs)
        for name in names:
            (few, few_records), (many, many_records) = next(counts), next(counts)
            yield name, (many - few) / (many_records - few_records)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rows", nargs="*", metavar="ROW", help="all of them if none is named")
    options.add_argument("--keep", action="store_true", help="keep what is counted as what later runs compare with")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        serve()
        return
    if unknown := set(given.rows) - set(ROWS):
        options.error(f"no row is named {', '.join(unknown)}; there are: {', '.join(ROWS)}")
    counting = counter()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    counted_by = counted_with(counting)
    before, now, moved = kept.get(counted_by, {}), {}, []
    print(f"user-space instructions a record, by {counted_by}")
    if not before:
        print("nothing is kept for these: run this with --keep at the commit to compare with")
    for name, instructions in count_rows(given.rows or list(ROWS), counting):
        now[name] = round(instructions)
        change = instructions / before[name] - 1 if name in before else 0.0
        told = f"{change:+.1%}" if name in before else "new"
        print(f"{name:30} {instructions:12,.0f}  {told}", flush=True)
        if abs(change) > MOVED:
            moved.append(f"{name} ({told})")
    if given.keep:
        KEPT.write_text(json.dumps({**kept, counted_by: {**before, **now}}, indent=2) + "\n")
    elif moved:
        raise SystemExit(f"moved by more than {MOVED:.0%}: {', '.join(moved)}")


if __name__ == "__main__":
    main()
