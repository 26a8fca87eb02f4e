"""Measures what tests do not: how long a start, a fixture and an import take, and how long others wait under an attack.

    python bench/questions/times.py            # compare with docs/results/times.json
    python bench/questions/times.py --keep     # write that file
    python bench/questions/times.py ROW …      # these rows only

Figures are kept for a processor and a version of Python; compare them on an idle machine. Each is the least of three
runs, or what a probe felt in five seconds. What grew by more than half is named; the status is 1 then.
"""

import argparse
import asyncio
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from time import perf_counter

from stepdown.bench.servers.stepdown import Stepdown
from stepdown.client.async_client import AsyncClient
from stepdown.client.group_member import GroupMember, MembershipSettings
from stepdown.config.keys.endpoints import parse_host_port
from stepdown.producer import Producer
from stepdown.testing import AsyncKafka, running

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support import quota_rates  # type: ignore[import-not-found]
from support.hostile import login_storm  # type: ignore[import-not-found]
from support.hostile.rows import ROWS, Row, felt  # type: ignore[import-not-found]

KEPT = Path(__file__).parents[2] / "docs" / "results" / "times.json"
MOVED = 0.5
RUNS = 3
PROBE_S = 5.0
TESTS_IN_A_ROW = 200
SUITE_NAME = "test_orders"
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
IMPORT = "import time; began = time.perf_counter(); import stepdown.producer; print(time.perf_counter() - began)"
SUITE = """
import pytest

@pytest.mark.parametrize("number", range(%d))
def test_an_order_is_published(kafka, number):
    kafka.produce("orders", "paid")
    kafka.assert_produces("orders", "paid")
"""
CONFTEST = """
took = {}

def pytest_runtest_logreport(report):
    took[report.nodeid] = took.get(report.nodeid, 0) + report.duration

def pytest_sessionfinish(session):
    import json
    with open("took.json", "w") as file:
        json.dump(list(took.values()), file)
"""


def import_ms() -> float:
    """`import stepdown.producer` in a new process."""
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, check=True, text=True)
    return float(done.stdout) * 1000


def start_ms() -> float:
    """Until a new broker, in a process of its own, answers."""
    with tempfile.TemporaryDirectory() as folder:
        server = Stepdown(Path(folder))
        began = perf_counter()
        server.start()
        took = perf_counter() - began
        server.kill()
        return took * 1000


def fixture_ms() -> float:
    """p95 of tests that each have a broker of their own, produce and read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"{SUITE_NAME}.py").write_text(SUITE % TESTS_IN_A_ROW)
        (folder / "conftest.py").write_text(CONFTEST)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        took: list[float] = json.loads((folder / "took.json").read_text())
    return statistics.quantiles(took, n=20)[-1] * 1000


def advance_45_s_ms() -> float:
    """The clock of a broker is moved by 45 s."""

    async def advance() -> float:
        async with running() as kafka:
            await kafka.create_topic("t")
            began = perf_counter()
            await kafka.clock.advance("45s")
            return perf_counter() - began

    return asyncio.run(advance()) * 1000


async def fill(kafka: AsyncKafka, left: AsyncExitStack) -> None:
    """Old records, a log to clean, an open transaction, and a group whose member is silent."""
    await kafka.create_topic("old", config={"retention.ms": 86_400_000, "segment.ms": 3_600_000})
    compact = {"cleanup.policy": "compact", "segment.ms": 3_600_000, "min.cleanable.dirty.ratio": "0.01"}
    await kafka.create_topic("kept", config=compact)
    for number in range(100):
        await kafka.produce("kept", str(number), key="one")
        await kafka.produce("old", str(number))
    await kafka.clock.advance("2h")
    producer = await Producer(kafka.bootstrap, transactional_id="left").start()
    await producer.init_transactions()
    producer.begin_transaction()
    await producer.send("kept", b"open", key=b"two")
    await kafka.produce("kept", "last", key="one")  # in the next segment: the one before may be cleaned
    assert len(await kafka.records("kept")) == 100, "it is after an open transaction"
    left.push_async_callback(producer.close, timeout_ms=0)
    await join("g", "old", kafka.bootstrap)
    assert len((await kafka.group("g")).members) == 1


async def join(group: str, topic: str, bootstrap: str) -> None:
    """A member that has its partitions, and is not heard of again."""
    membership = MembershipSettings(group=group, topics=[topic], session_timeout_ms=45_000, rebalance_timeout_ms=60_000)
    member = GroupMember(membership)
    async with AsyncClient([*map(parse_host_port, bootstrap.split(","))], client_id="silent") as client:
        while await client.run(member.join()) is None:
            pass


WEEK = {"log.initial.task.delay.ms": 0, "log.cleaner.backoff.ms": 1000, "log.retention.check.interval.ms": 60_000}


def advance_week_ms() -> float:
    """The clock is moved by seven days over what `fill` leaves, and all of it is done."""

    async def advance() -> float:
        async with running(config=WEEK) as kafka, AsyncExitStack() as left:
            await fill(kafka, left)
            began = perf_counter()
            await kafka.clock.advance("7d")
            took = perf_counter() - began
            assert await kafka.records("old") == []
            kept = [record.value for record in await kafka.records("kept")]
            assert len(kept) < 100, "nothing was cleaned"
            assert kept[-1] == b"last", "the transaction is open"
            assert (await kafka.group("g")).members == []
            return took

    return asyncio.run(advance()) * 1000


def reset_ms(brokers: int) -> float:
    """Brokers with what `fill` leaves are made as new."""

    async def reset() -> float:
        async with running(brokers=brokers) as kafka, AsyncExitStack() as left:
            await fill(kafka, left)
            began = perf_counter()
            await kafka.reset()
            return perf_counter() - began

    return asyncio.run(reset()) * 1000


def plugin_cpu_ms() -> float:
    """What the plugin adds to the processor time of a pytest that uses none of its fixtures: the middle of ten."""

    def cpu_s(*options: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        subprocess.run(command, cwd=name, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / f"{SUITE_NAME}.py").write_text("def test_nothing(): pass\n")
        return statistics.median(cpu_s() - cpu_s("-p", "no:stepdown") for _ in range(10)) * 1000


def beside(row: Row, percentile: int) -> Callable[[], float]:
    """What a small request of another client waits meanwhile, in milliseconds."""

    def wait_ms() -> float:
        with tempfile.TemporaryDirectory() as folder:
            server = Stepdown(Path(folder), properties=SETTINGS)
            server.start()
            try:
                waits: list[float] = felt(row, server, PROBE_S).waits_ms
                return statistics.quantiles(waits, n=100)[percentile - 1]
            finally:
                server.kill()

    return wait_ms


def megabytes(rate: Callable[[Path], float]) -> Callable[[], float]:
    """Millions of bytes a second that a client has."""

    def measure() -> float:
        with tempfile.TemporaryDirectory() as folder:
            return rate(Path(folder)) / 1e6

    return measure


STORMS = {
    f"ms: a login over TLS from {where} beside 1,000 {what}": partial(login_storm.login_ms, kind, host)
    for kind, what in (
        ("half_hello", "half hellos"),
        ("hello", "handshakes that stop"),
        ("tls_silent", "without a login"),
    )
    for where, host in (("another address", "127.0.0.2"), ("the same", "127.0.0.1"))
}
SHORT: dict[str, Callable[[], float]] = {
    "ms: import of the producer": import_ms,
    "ms: start of a broker": start_ms,
    "ms: p95 of a test with its own broker": fixture_ms,
    "ms: advance by 45 s": advance_45_s_ms,
    "ms: advance by 7 days": advance_week_ms,
    "ms: reset of a broker": partial(reset_ms, 1),
    "ms: reset of three brokers": partial(reset_ms, 3),
    "ms: CPU of the plugin where no test uses it": plugin_cpu_ms,
}
LONG = {
    **STORMS,
    **{f"ms: p50 beside {row.name}": beside(row, 50) for row in ROWS if not row.is_huge},
    **{f"ms: p99 beside {row.name}": beside(row, 99) for row in ROWS if not row.is_huge},
    "MB/s: a producer held to 1": megabytes(quota_rates.producer_rate),
    "MB/s: a consumer held to 1": megabytes(quota_rates.consumer_rate),
    "MB/s: a free producer that offers 5 beside one that is held": megabytes(quota_rates.free_rate),
}


def measure(name: str) -> float:
    return min(SHORT[name]() for _ in range(RUNS)) if name in SHORT else LONG[name]()


def machine() -> str:
    """What figures depend on besides the code."""
    found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    processor = found[1] if found else platform.machine()
    return f"Python {platform.python_version()}, {os.cpu_count()} of {processor}"


def is_worse(name: str, before: float, now: float) -> bool:
    """A time is worse when it has grown, a rate when it has moved either way."""
    return now > before * (1 + MOVED) if name.startswith("ms") else abs(now / before - 1) > MOVED / 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("rows", nargs="*", metavar="ROW", help="all of them if none is named")
    options.add_argument("--keep", action="store_true", help="keep what is measured as what later runs compare with")
    given = options.parse_args()
    rows = [*SHORT, *LONG]
    if unknown := set(given.rows) - set(rows):
        options.error(f"no row is named {', '.join(unknown)}; there are:\n{chr(10).join(rows)}")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    before, now, worse = kept.get(machine(), {}), {}, []
    print(f"by {machine()}{'' if before else '; nothing is kept for it yet: --keep'}")
    for name in given.rows or rows:
        now[name] = round(measure(name), 2)
        told = f"{now[name] / before[name] - 1:+.0%}" if name in before else "new"
        print(f"{name:62} {now[name]:10.2f}  {told}", flush=True)
        if name in before and is_worse(name, before[name], now[name]):
            worse.append(f"{name} ({told})")
    if given.keep:
        KEPT.write_text(json.dumps({**kept, machine(): {**before, **now}}, indent=2) + "\n")
    elif worse:
        raise SystemExit(f"worse: {', '.join(worse)}")


if __name__ == "__main__":
    main()
