"""Where does a request's time go? The functions of a server under load by their share of its CPU time, from Linux perf.

    python bench/questions/server_profile.py fetch 2 none 1000     # Fetch version, codec, bytes a record
    python bench/questions/server_profile.py produce 64000 none    # bytes a batch, codec

Needs `perf`. Python's own functions show as the interpreter's (`_PyEval_EvalFrameDefault` …); the kernel's and those of
compiled modules by name. Fetch: 12 partitions, 1 MB each, one reader, data in the page cache. Produce: 8 connections,
5 requests in flight, acks=1.
"""

import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from stepdown.bench.cases.fetching import SETTINGS, FetchCase, FetchGrid, reading, topic_of
from stepdown.bench.cases.producing import ProduceGrid
from stepdown.bench.load.filled_topics import create_topic, fill
from stepdown.bench.load.load_plan import LoadPlan
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.produce_and_fetch_requests import ProduceRequests
from stepdown.bench.servers.process import wait_until
from stepdown.bench.servers.stepdown import Stepdown
from stepdown.protocol.records.layout import Codec

TOPIC = "profiled"
SECONDS = 5.0
WARM_UP_S = 1.0
SHOWN, SHOWN_MODULES = 25, 8
SAMPLES_A_SECOND = 999
_ROW = re.compile(r"\s*(?P<share>[\d.]+)%\s+(?P<object>\S+)\s+\[(?P<space>.)\]\s+(?P<function>\S+).*")


@contextmanager
def recorded(pid: int, output: Path) -> Iterator[None]:
    """Samples a process from when perf says that it does, until the end of the block."""
    command = ["perf", "record", "-e", "cpu-clock", "-F", str(SAMPLES_A_SECOND), "-p", str(pid), "-o", str(output)]
    recorder = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_until(lambda: output.exists() and output.stat().st_size, "perf records")
    try:
        yield
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait()


def shares(output: Path) -> Counter[str]:
    """Percent of the samples by function, its module before it."""
    command = ["perf", "report", "-i", str(output), "--stdio", "-g", "none", "--sort", "dso,symbol"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[str] = Counter()
    for row in map(_ROW.fullmatch, report.splitlines()):
        if row is not None:
            found[f"{Path(row['object']).name.partition('.cpython')[0]}: {row['function']}"] += float(row["share"])  # type: ignore[assignment]
    return found


def fetching(server: Stepdown, load: LoadProcess, version: int, codec: Codec, record_bytes: int) -> LoadPlan:
    """Writes what is fetched; one reader then asks for all of it again and again."""
    filling = next(FetchGrid(record_bytes=(record_bytes,), codecs=(codec,)).fillings())
    fill(server.address, topic_of(filling), filling, load)
    case = FetchCase(record_bytes=record_bytes, codec=codec, version=version, readers=1)
    return reading(server.address, case, filling, WARM_UP_S)


def producing(server: Stepdown, batch_bytes: int, codec: Codec) -> LoadPlan:
    """The bench's connections, each with its requests in flight."""
    filling = next(ProduceGrid(batch_bytes=(batch_bytes,), codecs=(codec,)).cases()).filling
    create_topic(server.address, TOPIC, filling.partitions)
    return ProduceRequests().plan(server.address, TOPIC, filling, WARM_UP_S)


def main(arguments: list[str]) -> None:
    """Prints MB per CPU second, and the shares of modules and of functions."""
    with tempfile.TemporaryDirectory() as folder, LoadProcess() as load:
        server, data = Stepdown(Path(folder), properties=SETTINGS), Path(folder) / "perf.data"
        server.start()
        try:
            match arguments:
                case ["fetch", version, codec, record_bytes]:
                    plan = fetching(server, load, int(version), Codec[codec.upper()], int(record_bytes))
                case ["produce", batch_bytes, codec]:
                    plan = producing(server, int(batch_bytes), Codec[codec.upper()])
                case _:
                    sys.exit(__doc__)
            for seconds in (WARM_UP_S, SECONDS):
                load.prepare(replace(plan, seconds=seconds))
                with recorded(server.pid, data):
                    before = server.usage.cpu_seconds()
                    load.start_load()
                    result = load.result()
                    cpu = server.usage.cpu_seconds() - before
            moved = result.received_bytes + result.sent_bytes
            print(f"{' '.join(arguments)}: {moved / 1e6 / cpu:.0f} MB and {result.responses / cpu:.0f} answers a CPU s")
            functions = shares(data)
            modules: Counter[str] = Counter()
            for function, share in functions.items():
                modules[function.partition(":")[0]] += share
            for name, share in (*modules.most_common(SHOWN_MODULES), *functions.most_common(SHOWN)):
                print(f"{share:6.2f} %  {name}")
        finally:
            server.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
