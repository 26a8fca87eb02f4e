"""What a broker does to its files when its timers say so."""

import asyncio
import threading
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.maintenance.log_maintenance import SEGMENTS_A_STEP
from stepdown.broker.metadata.topics import NewTopic
from stepdown.storage.files.file_handle import FileHandle
from stepdown.storage.log.log import Log
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.files import FaultyFiles
from support.logs import append, read_all, values_of
from support.running import running_broker


def fill(log: Log) -> None:
    for _ in range(100):
        append(log, 100)


class SlowFiles(FaultyFiles):
    """Once `slow` is set, a sync in the folder of `a` waits until `go` is."""

    def __init__(self) -> None:
        super().__init__()
        self.slow, self.waits, self.go = threading.Event(), threading.Event(), threading.Event()

    def sync(self, handle: FileHandle) -> None:
        if self.slow.is_set() and "/a-0/" in handle.path:
            self.waits.set()
            assert self.go.wait(DEADLINE_S)
        super().sync(handle)


async def make_log(broker: Broker, name: str) -> Log:
    new = NewTopic(name=name, partitions=1, settings=broker.topics.configuration.topic_settings({}), overrides={})
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
        flush = asyncio.create_task(broker.maintenance._flush())
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


async def test_many_small_segments_are_deleted_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic of 10,000 segments of a record each held all clients while retention renamed their files."""
    taken: list[int] = []
    delete = Log.delete_old_segments

    def count(log: Log, *arguments: int, **most: int) -> int:
        taken.append(delete(log, *arguments, **most))
        return taken[-1]

    monkeypatch.setattr(Log, "delete_old_segments", count)
    async with running_broker(tmp_path, clock=ManualClock(), log_segment_bytes=200, log_retention_bytes=1) as broker:
        fill(log := await make_log(broker, "a"))
        segments = len(log.segments)
        assert segments > 2 * SEGMENTS_A_STEP
        await broker.maintenance.apply_retention()
        assert len(log.segments) == 1
    assert sum(taken) >= segments - 1
    assert max(taken) <= SEGMENTS_A_STEP
