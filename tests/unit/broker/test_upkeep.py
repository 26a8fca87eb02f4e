"""What a broker does to its files when its timers say so."""

from pathlib import Path

from stepdown.broker.broker import Broker
from stepdown.broker.topics import NewTopic
from stepdown.broker.upkeep import LOGS_A_TURN, TIDY_INTERVAL_MS
from stepdown.storage.log import Log
from support.clock import ManualClock
from support.files import FaultyFiles
from support.logs import append
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
