"""Periodic work and scrapes that walked all of many things held the loop: all producer ids, all committed offsets.

Time is the lines of Python that were run: a turn ends after some hundred of them on any machine, and what does not ask
its turn is found by the lines that it runs in one pass of the loop. Walks of the interpreter's own, such as a copy of
a dictionary, are no lines: they take some ten nanoseconds an item.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.groups.classic.group import ClassicGroup
from stepdown.broker.scheduling.periodic_task import Periodic
from stepdown.protocol.coordinator.offset_records import OffsetCommitKey, OffsetCommitValue
from support.brokers import running_cluster
from support.clock import ManualClock, settle

ROOT = str(Path(__file__).parents[2])
MANY = 2_500
A_LINE_S = 5e-6
MOST_LINES = 2_200
"""In one pass of the loop. A turn is 100 of them; a hundred offsets are looked at together."""


class LineClock:
    """Counts lines of Python while it runs, those of each pass of the loop as well."""

    def __init__(self) -> None:
        self._lines = self._before = self.most_in_a_pass = 0

    def monotonic_s(self) -> float:
        return self._lines * A_LINE_S

    @contextmanager
    def running(self) -> Iterator[None]:
        tracing = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(tracing)
            self.end_pass()

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        self._lines += 1
        return self._trace

    def end_pass(self) -> None:
        self.most_in_a_pass = max(self.most_in_a_pass, self._lines - self._before)
        self._before = self._lines


async def most_lines_of(clock: LineClock, work: Awaitable[object]) -> int:
    """The lines of the longest pass of the loop while the work is done."""

    async def watch() -> None:
        while True:
            clock.end_pass()
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    clock.end_pass()
    clock.most_in_a_pass = 0
    with clock.running():
        await work
    watching.cancel()
    return clock.most_in_a_pass


def fill(broker: Broker) -> None:
    """Many of all that clients can make, as if they had."""
    name, topic = next(iter(broker.cluster.topics.items()))
    producers, now_ms = topic.partitions[0].log.producers.state, broker.clock.now_ms()
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=now_ms)
    for number in range(MANY):
        producers.add_batch(number, 0, 0, first_offset=0, last_offset=0, timestamp=now_ms, is_transactional=False)
        broker.transactions.transactions.add(f"t{number}", number, 1000, now_ms)
        broker.groups.groups.put(ClassicGroup(f"g{number}", state_since_ms=now_ms))
        broker.groups.offsets.apply(OffsetCommitKey(group="g0", topic=name, partition=number), value, number)
        broker.metrics.bytes_in.of(f"t{number}").add()
        broker.metrics.request_duration.of(f"{number}", "total", "0").observe(1)
        broker.cluster.topics[f"t{number}"] = replace(topic, name=f"t{number}", partitions={0: topic.partitions[1]})
        broker.log_manager.logs[f"t{number}", 0] = topic.partitions[1].log


@asynccontextmanager
async def filled_broker(directory: Path, clock: ManualClock) -> AsyncIterator[Broker]:
    """One of a cluster, as that has all periodic work."""
    async with running_cluster(directory, 1, clock=clock, offsets_topic_num_partitions=2) as cluster:
        broker = cluster.brokers[1]
        await broker.groups.ensure_topic_and_check("g")
        await settle()
        topics, logs = dict(broker.cluster.topics), dict(broker.log_manager.logs)
        fill(broker)
        try:
            yield broker
        finally:
            for kept, known in ((topics, broker.cluster.topics), (logs, broker.log_manager.logs)):
                known.clear()
                known.update(kept)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], Awaitable[None]]]:
    """The work of every timer that is begun, by its name; none of them rings."""
    found: dict[str, Callable[[], Awaitable[None]]] = {}
    monkeypatch.setattr(Periodic, "_schedule", lambda self, _: found.setdefault(self._name, self._work))
    return found


async def test_no_round_and_no_scrape_walks_many_things_in_one_pass(
    rounds: dict[str, Callable[[], Awaitable[None]]], tmp_path: Path
) -> None:
    lines, clock = LineClock(), ManualClock()
    most = {}
    async with filled_broker(tmp_path, clock) as broker:
        broker.turns.monotonic_s = lines.monotonic_s
        for family in broker.metrics.instruments._families:
            most[family.name] = await most_lines_of(lines, family.take_snapshot(broker.turns.begin()))
        for name, work in rounds.items():
            most[name] = await most_lines_of(lines, work())
    assert {name: count for name, count in most.items() if count > MOST_LINES} == {}
    assert most.keys() >= {"producer expiry", "transactional id expiry", "offset expiry", "ISR", "stepdown_group_lag"}


async def test_a_marker_that_ends_a_transaction_of_many_groups_leaves_the_loop_in_between(tmp_path: Path) -> None:
    lines = LineClock()
    async with filled_broker(tmp_path, ManualClock()) as broker:
        value = OffsetCommitValue(offset=2, metadata="", commit_timestamp=broker.clock.now_ms())
        for number in range(MANY):
            key = OffsetCommitKey(group=f"g{number}", topic="t", partition=0)
            broker.groups.offsets.apply(key, value, number, producer_id=7)
        broker.turns.monotonic_s = lines.monotonic_s
        for partition in (0, 1):
            turn = broker.turns.begin()
            ending = broker.groups.complete_transaction(7, 0, committed=True, partition=partition, turn=turn)
            assert await most_lines_of(lines, ending) <= MOST_LINES
        assert list(broker.groups.offsets.groups_of_producer(7)) == []
