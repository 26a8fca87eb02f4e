"""What an open page costs a broker and its clients: `python -m support.page_soak SECONDS` in tests/ (`make page-soak`).

The broker has 1,000 topics and answers 10,000 requests a second. A tab of Chromium shows the views of the page in turn,
for so many seconds in all, and between them an empty page. Says how much the broker has grown, and the 99th percentile
of a client with one small request at a time while the page is open and while it is not: medians of all turns.
"""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count, cycle
from pathlib import Path
from statistics import median
from time import monotonic, sleep

from stepdown.bench.servers.admin_connection import frame_of
from stepdown.bench.servers.process import ProcessUsage
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

from .broker import Stepdown
from .browser import Tab, chromium
from .hostile.client import asked, connected, skip_answer
from .hostile.rows import TESTS, create

TOPICS = [f"topic-{number}" for number in range(1_000)]
REQUESTS_A_SECOND = 10_000
CONNECTIONS = 16
TICK_S = 0.02
PROBE_PAUSE_S = 0.002
OPEN_S, CLOSED_S = 60.0, 5.0
WARM_UP_S = 20.0
VIEWS = {"overview": "Metadata", "topics": "topic-0", "clients": "stepdown-bench", "requests": "o request since"}
"""A text that each view has to have."""
MOST_GROWTH_BYTES = 5 << 20
MOST_P99_RATIO = 1.1


def requests() -> Iterator[bytes]:
    """Of each topic where it is, and where it ends."""
    for topic in cycle(TOPICS):
        yield frame_of(MetadataRequest(topics=(MetadataRequestTopic(name=topic),)), 5)
        partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
        wanted = ListOffsetsTopic(name=topic, partitions=(partition,))
        yield frame_of(ListOffsetsRequest(replica_id=-1, topics=(wanted,)), 2)


def load(address: str) -> None:
    """Sends them until it is killed; says once a second how many were answered."""
    encoded = [each for each, _ in zip(requests(), range(2 * len(TOPICS)), strict=False)]
    sockets = [connected(address) for _ in range(CONNECTIONS)]
    following = cycle(encoded)
    each_time = int(REQUESTS_A_SECOND * TICK_S / CONNECTIONS)
    began, answered = monotonic(), 0
    for tick in count(1):
        for sock in sockets:
            sock.sendall(b"".join(next(following) for _ in range(each_time)))
        for sock in sockets:
            skip_answers(sock, each_time)
        answered += each_time * CONNECTIONS
        if tick % int(1 / TICK_S) == 0:
            print(f"{answered / (monotonic() - began):.0f}", flush=True)
        sleep(max(0.0, began + tick * TICK_S - monotonic()))


def skip_answers(sock: socket.socket, answers: int) -> None:
    for _ in range(answers):
        skip_answer(sock)


def probe(address: str) -> None:
    """For each number of seconds at standard input the 99th percentile of small requests, in ms."""
    request = next(requests())
    with connected(address) as sock:
        for line in sys.stdin:
            waits, end = [], monotonic() + float(line)
            while (began := monotonic()) < end:
                asked(sock, request)
                waits.append(monotonic() - began)
                sleep(PROBE_PAUSE_S)
            print(sorted(waits)[len(waits) * 99 // 100] * 1000, flush=True)


@contextmanager
def running(kind: str, address: str) -> "Iterator[subprocess.Popen[str]]":
    """One of the two above, as a process."""
    command = [sys.executable, "-m", "support.page_soak", kind, address]
    with subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def ask_p99_ms(process: "subprocess.Popen[str]", seconds: float) -> float:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{seconds}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


async def measure(broker: Stepdown, tab: Tab, seconds: float) -> bool:
    """Whether it held. Prints what was found."""
    usage, views = ProcessUsage(broker.pid), cycle(VIEWS.items())
    open_s = min(OPEN_S, seconds / len(VIEWS))
    opened: dict[str, list[float]] = {}
    closed: list[float] = []
    with running("load", broker.address) as loading, running("probe", broker.address) as probing:
        await asyncio.to_thread(ask_p99_ms, probing, WARM_UP_S)
        before = usage.rss_bytes()
        while len(closed) * open_s < seconds:
            view, text = next(views)
            await tab.show(f"http://{broker.http}/#/{view}", text)
            opened.setdefault(view, []).append(await asyncio.to_thread(ask_p99_ms, probing, open_s))
            await tab.evaluate("location.replace('about:blank')")
            closed.append(await asyncio.to_thread(ask_p99_ms, probing, CLOSED_S))
        grown = usage.rss_bytes() - before
        loading.kill()
        assert loading.stdout is not None
        answered = int(loading.stdout.read().split()[-1])
    open_ms, closed_ms = median(chain.from_iterable(opened.values())), median(closed)
    ratio = open_ms / closed_ms
    found = {
        "open_seconds": len(closed) * open_s,
        "requests_a_second": answered,
        "before_mib": round(before / (1 << 20), 1),
        "grown_mib": round(grown / (1 << 20), 1),
        "p99_open_ms": round(open_ms, 2),
        "p99_open_ms_by_view": {view: round(median(each), 2) for view, each in opened.items()},
        "p99_closed_ms": round(closed_ms, 2),
        "p99_ratio": round(ratio, 2),
    }
    print(json.dumps(found))
    return grown <= MOST_GROWTH_BYTES and ratio <= MOST_P99_RATIO


async def main(seconds: float) -> int:
    with tempfile.TemporaryDirectory() as folder, Stepdown(Path(folder)) as broker:
        create(broker.address, dict.fromkeys(TOPICS, 1))
        async with chromium(Path(folder) / "profile") as tab:
            return 0 if await measure(broker, tab, seconds) else 1


if __name__ == "__main__":
    if sys.argv[1] in ("load", "probe"):
        {"load": load, "probe": probe}[sys.argv[1]](sys.argv[2])
    else:
        sys.exit(asyncio.run(main(float(sys.argv[1]))))
