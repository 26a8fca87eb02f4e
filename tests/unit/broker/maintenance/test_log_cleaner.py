"""The cleaner in a broker: what it takes up and when, and that nobody is disturbed by it."""

import asyncio
from pathlib import Path

from stepdown.broker.broker import Broker
from stepdown.broker.metadata.partition import Partition
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.files import flip_bit
from support.logs import file_names, prepared, read_all
from support.running import running_broker

BACKOFF_MS = 15_000


async def make_topic(broker: Broker, name: str, **overrides: str) -> Partition:
    texts = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
    texts |= {key.replace("_", "."): value for key, value in overrides.items()}
    new = NewTopic(name=name, partitions=1, settings=broker.topics.configuration.topic_settings(texts), overrides=texts)
    assert not await broker.topics.create([new])
    return broker.cluster.partition(name, 0)


def fill(broker: Broker, partition: Partition, keys: int, rounds: int) -> None:
    for turn in range(rounds):
        records = [
            Record(offset=n, timestamp=broker.clock.now_ms(), key=b"%d" % n, value=b"%d" % turn) for n in range(keys)
        ]
        partition.log.append(prepared(build_batch(records)), leader_epoch=0)
    partition.log.roll()


async def until_clean(broker: Broker, clock: ManualClock) -> None:
    """Lets the cleaner's time come and waits for the end of its round."""
    await clock.advance(BACKOFF_MS)
    await broker.cleaner.wait_until_idle()


async def test_it_cleans_after_its_backoff_and_notes_how_far(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        partition = await make_topic(broker, "a")
        fill(broker, partition, keys=10, rounds=5)
        await until_clean(broker, clock)
        assert [record.offset for record in read_all(partition.log)] == list(range(40, 50))
        checkpoint = await asyncio.to_thread((tmp_path / "cleaner-offset-checkpoint").read_text)
        assert checkpoint == "0\n1\na 0 50\n"


async def test_what_is_clean_stays_so_after_a_restart(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        fill(broker, await make_topic(broker, "a"), keys=10, rounds=5)
        await until_clean(broker, clock)
    async with running_broker(tmp_path, clock=clock) as broker:
        before = broker.cluster.partition("a", 0).log.segments[0]
        await until_clean(broker, clock)
        assert broker.cluster.partition("a", 0).log.segments[0] is before


async def test_a_new_topic_of_the_same_name_is_dirty_from_its_start(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        fill(broker, await make_topic(broker, "a"), keys=10, rounds=5)
        await until_clean(broker, clock)
        await broker.topics.delete(["a"])
        partition = await make_topic(broker, "a")
        fill(broker, partition, keys=10, rounds=9)
        await until_clean(broker, clock)
        assert [record.offset for record in read_all(partition.log)] == list(range(80, 90))


async def test_topics_that_are_not_compacted_are_left_alone(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        partition = await make_topic(broker, "a", cleanup_policy="delete")
        fill(broker, partition, keys=3, rounds=2)
        await until_clean(broker, clock)
        assert len(list(read_all(partition.log))) == 6


async def test_compact_and_delete_does_both(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        partition = await make_topic(broker, "a", cleanup_policy="compact,delete", retention_ms="3600000")
        fill(broker, partition, keys=10, rounds=3)
        await until_clean(broker, clock)
        assert len(list(read_all(partition.log))) == 10
        clock.now += 7_200_000
        fill(broker, partition, keys=2, rounds=1)
        await until_clean(broker, clock)
        assert [record.offset for record in read_all(partition.log)] == [30, 31]
        assert partition.log.log_start_offset == 30


async def test_a_damaged_log_is_given_up_and_others_are_cleaned(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        bad, good = await make_topic(broker, "bad"), await make_topic(broker, "good")
        for partition in (bad, good):
            fill(broker, partition, keys=10, rounds=5)
        path = Path(bad.log.segments[0].file.path)
        flip_bit(path, 8 * 100)
        await until_clean(broker, clock)
        assert len(list(read_all(good.log))) == 10
        assert broker.log_manager.files.size(str(path)) == bad.log.segments[0].size


async def test_a_topic_that_is_deleted_meanwhile_takes_its_files_with_it(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_io_max_bytes_per_second=1000) as broker:
        fill(broker, await make_topic(broker, "a"), keys=1000, rounds=5)
        await clock.advance(BACKOFF_MS)
        await broker.topics.delete(["a"])
        for _ in range(100):
            await clock.advance(60_000)
        await broker.cleaner.wait_until_idle()
        async with asyncio.timeout(DEADLINE_S):
            while [name for name in file_names(tmp_path) if name.startswith("a-")]:  # a worker removes them
                await clock.advance(60_000)


async def test_a_broker_that_stops_gives_up_what_it_cleans(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        fill(broker, await make_topic(broker, "a"), keys=1000, rounds=20)
        await clock.advance(BACKOFF_MS)
    assert not [name for name in file_names(tmp_path / "a-0") if name.endswith(".cleaned")]


async def test_nothing_is_cleaned_where_it_is_switched_off(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_enable="false") as broker:
        partition = await make_topic(broker, "a")
        fill(broker, partition, keys=10, rounds=5)
        await until_clean(broker, clock)
        assert len(list(read_all(partition.log))) == 50
