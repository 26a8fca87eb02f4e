"""What a broker does to its files when its timers say so."""

import asyncio
import threading
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.maintenance.log_maintenance import LOGS_A_TURN, TIDY_INTERVAL_MS
from stepdown.broker.metadata.topics import NewTopic
from stepdown.storage.files.file_handle import FileHandle
from stepdown.storage.log.log import Log
from support.clock import ManualClock
from support.files import FaultyFiles
from support.logs import append, read_all, values_of
from support.running import running_broker

GROWTH = 4000


async def make_logs(broker: Broker, count: int) -> list[Log]:
    new = NewTopic(name="a", partitions=count, settings=broker.topics.check("a", {}), overrides={})
    assert not await broker.topics.create([new])
    return [broker.cluster.partition("a", number).log for number in range(count)]


def fill(log: Log) -> None:
    while log.size_bytes <= GROWTH // 2:
        append(log, 100)


def size_of(log: Log) -> int:
    return Path(log.segments.active.file.path).stat().st_size


async def test_files_that_have_grown_ahead_are_cut_when_they_are_quiet(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, files=FaultyFiles(growth_bytes=GROWTH)) as broker:
        logs = await make_logs(broker, LOGS_A_TURN + 2)
        for log in logs:
            fill(log)
        busy = logs[-1]
        assert {size_of(log) for log in logs} == {GROWTH}
        await clock.advance(TIDY_INTERVAL_MS)
        append(busy, 100)
        assert {size_of(log) for log in logs} == {GROWTH}
        await clock.advance(TIDY_INTERVAL_MS)
        assert all(size_of(log) == log.size_bytes for log in logs[:-1])
        assert size_of(busy) == GROWTH
        await clock.advance(TIDY_INTERVAL_MS)
        assert size_of(busy) == busy.size_bytes


class SlowFiles(FaultyFiles):
    """Once `slow` is set, a sync in the folder of `a` waits until `go` is."""

    def __init__(self) -> None:
        super().__init__(growth_bytes=GROWTH)
        self.slow, self.waits, self.go = threading.Event(), threading.Event(), threading.Event()

    def sync(self, handle: FileHandle) -> None:
        if self.slow.is_set() and "/a-0/" in handle.path:
            self.waits.set()
            assert self.go.wait(10)
        super().sync(handle)


async def make_log(broker: Broker, name: str) -> Log:
    new = NewTopic(name=name, partitions=1, settings=broker.topics.check(name, {}), overrides={})
    assert not await broker.topics.create([new])
    return broker.cluster.partition(name, 0).log


@pytest.mark.parametrize("is_made_again", [False, True])
async def test_a_log_that_is_deleted_while_others_are_flushed_disturbs_nobody(
    tmp_path: Path, is_made_again: bool
) -> None:
    clock, files = ManualClock(), SlowFiles()
    async with running_broker(tmp_path, clock=clock, files=files, log_flush_interval_ms=100) as broker:
        first, doomed, last = [await make_log(broker, name) for name in ("a", "b", "c")]
        for log in (first, doomed, last):
            fill(log)
        await clock.advance(100)
        files.slow.set()
        flush = asyncio.create_task(broker._upkeep._flush())
        assert await asyncio.to_thread(files.waits.wait, 10)
        assert not await broker.topics.delete(["b"])
        successor = await make_log(broker, "b") if is_made_again else None
        if successor is not None:
            for _ in range(60):
                append(successor, 100)
        files.go.set()
        await flush
        assert [log.recovery_point for log in (first, last)] == [log.log_end_offset for log in (first, last)]
        if successor is not None:
            assert len(values_of(read_all(successor))) == 60


async def test_a_file_that_cannot_be_cut_keeps_only_its_own_log_from_the_disk(tmp_path: Path) -> None:
    clock, files = ManualClock(), FaultyFiles(growth_bytes=GROWTH)
    async with running_broker(tmp_path, clock=clock, files=files, log_flush_interval_ms=100) as broker:
        logs = [await make_log(broker, name) for name in ("a", "b", "c")]
        append(logs[0], 100)
        fill(logs[1])
        append(logs[2], 100)
        await clock.advance(100)
        files.fails_truncate = True
        await broker._upkeep._flush()
        files.fails_truncate = False
        assert [log.recovery_point == log.log_end_offset for log in logs] == [True, False, True]
        assert [log.fault is None for log in logs] == [True, False, True]
