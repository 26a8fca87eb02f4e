"""The cleaner follows its settings while the broker runs."""

from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.storage.log.log import Log
from support.clock import ManualClock
from support.logs import prepared
from support.running import running_broker

BACKOFF_MS = 15_000
HOUR_MS = 3_600_000
CLEAN_BYTES = 1000
"""More than a log of `dirty_log` has when it is clean, less than before."""


async def dirty_log(broker: Broker, name: str) -> Log:
    texts = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
    new = NewTopic(name=name, partitions=1, settings=broker.topics.configuration.topic_settings(texts), overrides=texts)
    assert not await broker.topics.create([new])
    log = broker.cluster.partition(name, 0).log
    for _ in range(5):
        records = [Record(offset=n, timestamp=1, key=b"%d" % n, value=b"v") for n in range(10)]
        log.append(prepared(build_batch(records)), leader_epoch=0)
    log.roll()
    return log


def configure(broker: Broker, **texts: object) -> None:
    named = {key.replace("_", "."): str(text) for key, text in texts.items()}
    broker.topics.configure_broker(named, of_cluster=True)


async def test_a_shorter_backoff_counts_from_now(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        log = await dirty_log(broker, "a")
        before = log.size_bytes
        configure(broker, log_cleaner_backoff_ms=1000)
        await clock.advance(1000)
        await broker.cleaner.wait_until_idle()
        assert log.size_bytes < before
        configure(broker)
        again = await dirty_log(broker, "b")
        before = again.size_bytes
        await clock.advance(BACKOFF_MS - 1)
        await broker.cleaner.wait_until_idle()
        assert again.size_bytes == before
        await clock.advance(1)
        await broker.cleaner.wait_until_idle()
        assert again.size_bytes < before


async def test_threads_come_and_go(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_io_max_bytes_per_second=1) as broker:
        for name in "abcd":
            await dirty_log(broker, name)
        await until_active(broker, clock, 1)
        configure(broker, log_cleaner_threads=2)
        await until_active(broker, clock, 2)
        configure(broker, log_cleaner_threads=1)
        while broker.cleaner.active_count == 2:
            await clock.advance(HOUR_MS)
        while any(broker.cluster.partition(name, 0).log.size_bytes > CLEAN_BYTES for name in "abcd"):
            await clock.advance(HOUR_MS)
            assert broker.cleaner.active_count <= 1


async def until_active(broker: Broker, clock: ManualClock, count: int) -> None:
    """Lets time pass until so many logs are being cleaned: their first steps run in threads."""
    while broker.cleaner.active_count < count:
        await clock.advance(BACKOFF_MS)


async def test_a_stop_does_not_wait_for_what_the_rate_asks(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_io_max_bytes_per_second=1) as broker:
        await dirty_log(broker, "a")
        await until_active(broker, clock, 1)


async def test_no_threads_at_all_can_become_one(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_threads=0) as broker:
        log = await dirty_log(broker, "a")
        before = log.size_bytes
        await clock.advance(BACKOFF_MS)
        assert (broker.cleaner.active_count, log.size_bytes) == (0, before)
        configure(broker, log_cleaner_threads=1)
        await clock.advance(BACKOFF_MS)
        await broker.cleaner.wait_until_idle()
        assert log.size_bytes < before


async def test_the_number_of_threads_at_most_doubles_or_halves(tmp_path: Path) -> None:
    async with running_broker(tmp_path, log_cleaner_threads=4) as broker:
        for refused in (0, 1, 9):
            with pytest.raises(ApiError, match=r"log\.cleaner\.threads"):
                configure(broker, log_cleaner_threads=refused)
        configure(broker, log_cleaner_threads=8)
        assert broker.settings.log_cleaner_threads == 8
