"""One item's unexpected exception ended the round for all others: no topic was compacted while one could not be.

A fault is put into one partition, group or transaction of three; what the others are due happens all the same.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset, OffsetRequests
from stepdown.broker.metadata.partition import Partition
from stepdown.broker.metadata.topics import NewTopic
from stepdown.broker.transactions.transaction import Transaction
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.storage.log.log import Log
from stepdown.storage.producers.producer_states import ProducerStates
from support.client import RawClient
from support.clock import ManualClock
from support.logs import prepared, read_all
from support.running import running_broker
from support.scraping import value
from support.transactions import SETTINGS, TransactionalClient

NAMES = ("a", "b", "c")
HOUR_MS = 3_600_000
FAULTY = "a"


@pytest.fixture
def break_one(monkeypatch: pytest.MonkeyPatch) -> Callable[[type, str, Callable[[Any], bool]], None]:
    """Has a method raise for those that are chosen."""

    def put(where: type, name: str, is_faulty: Callable[[Any], bool]) -> None:
        original = getattr(where, name)

        def broken(self: Any, *args: Any, **named: Any) -> Any:
            if is_faulty(args[0] if where is OffsetRequests else self):
                raise OverflowError("a fault of the test")
            return original(self, *args, **named)

        monkeypatch.setattr(where, name, broken)

    return put


async def make_partitions(broker: Broker, **overrides: str) -> dict[str, Partition]:
    texts = {key.replace("_", "."): text for key, text in overrides.items()}
    settings = broker.topics.configuration.topic_settings(texts)
    new = [NewTopic(name=name, partitions=1, settings=settings, overrides=texts) for name in NAMES]
    assert not await broker.topics.create(new)
    return {name: broker.cluster.partition(name, 0) for name in NAMES}


def fill(broker: Broker, partition: Partition) -> None:
    for _ in range(5):
        records = [Record(offset=n, timestamp=broker.clock.now_ms(), key=b"%d" % n, value=b"v") for n in range(10)]
        partition.log.append(prepared(build_batch(records)), leader_epoch=0)
    partition.log.roll()


def remaining(partitions: dict[str, Partition]) -> dict[str, int]:
    return {name: len(list(read_all(partition.log))) for name, partition in partitions.items()}


async def faults(broker: Broker, work: str) -> float:
    return await value(broker, "stepdown_round_faults_total", work=work)


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
async def test_retention_goes_on(tmp_path: Path, break_one: Any, policy: str) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_backoff_ms=300_000) as broker:
        partitions = await make_partitions(broker, cleanup_policy=policy, retention_ms="1000", segment_ms="1000")
        for partition in partitions.values():
            fill(broker, partition)
        break_one(Log, "delete_old_segments", lambda log: log.topic == FAULTY)
        await clock.advance(301_000)
        await broker.cleaner.wait_until_idle()
        assert remaining(partitions) == {"a": 10 if "compact" in policy else 50, "b": 0, "c": 0}
        assert await faults(broker, "retention") == 1


async def test_cleaning_goes_on_when_a_number_lies_at_the_end_of_its_type(tmp_path: Path) -> None:
    """`delete.retention.ms=9223372036854775807` was an OverflowError, twice a second."""
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_cleaner_backoff_ms=1000) as broker:
        longest = str(2**63 - 1)
        partitions = await make_partitions(
            broker, cleanup_policy="compact", min_cleanable_dirty_ratio="0.1", delete_retention_ms=longest
        )
        for partition in partitions.values():
            fill(broker, partition)
            tombstone = [Record(offset=0, timestamp=clock.now, key=b"0", value=None)]
            partition.log.append(prepared(build_batch(tombstone)), leader_epoch=0)
            partition.log.roll()
        await clock.advance(1000)
        await broker.cleaner.wait_until_idle()
        assert remaining(partitions) == dict.fromkeys(NAMES, 10)  # nine values and the tombstone
        assert await value(broker, "stepdown_cleaner_uncleanable_partitions") == 0


@pytest.mark.parametrize("step", ["find_cleanable_range", "Compaction"])
async def test_a_log_whose_cleaning_fails_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    clock = ManualClock()
    module = "log_cleaner" if step == "find_cleanable_range" else "single_log_cleaning"
    place = f"stepdown.broker.maintenance.{module}.{step}"
    async with running_broker(tmp_path, clock=clock, log_cleaner_backoff_ms=1000) as broker:
        partitions = await make_partitions(broker, cleanup_policy="compact", min_cleanable_dirty_ratio="0.1")
        for partition in partitions.values():
            fill(broker, partition)
        original = getattr(import_module(place.rpartition(".")[0]), step)

        def broken(what: Any, *args: Any) -> Any:
            if getattr(what, "log", what).topic == FAULTY:
                raise OverflowError("a fault of the test")
            return original(what, *args)

        monkeypatch.setattr(place, broken)
        for _ in range(3):
            await clock.advance(1000)
            await broker.cleaner.wait_until_idle()
        assert remaining(partitions) == {"a": 50, "b": 10, "c": 10}
        assert await value(broker, "stepdown_cleaner_uncleanable_partitions") == 1
        assert caplog.text.count("a-0 is not cleaned any more until the next start: a fault of the test") == 1


async def test_flushing_goes_on(tmp_path: Path, break_one: Any) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, log_flush_interval_ms=100) as broker:
        partitions = await make_partitions(broker)
        for partition in partitions.values():
            fill(broker, partition)
        break_one(Log, "plan_flush", lambda log: log.topic == FAULTY)
        clock.now += 100
        await broker.maintenance._flush()
        assert {name: each.log.recovery_point for name, each in partitions.items()} == {"a": 0, "b": 50, "c": 50}
        assert await faults(broker, "flush") == 1
    assert not (tmp_path / ".kafka_cleanshutdown").exists()  # all were closed, but for one


async def test_producers_expire_on(tmp_path: Path, break_one: Any) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock) as broker:
        partitions = await make_partitions(broker)
        for partition in partitions.values():
            batch = build_batch(
                [Record(offset=0, timestamp=clock.now, value=b"v")], producer_id=7, producer_epoch=0, base_sequence=0
            )
            partition.log.append(prepared(batch), leader_epoch=0)
        broken = partitions[FAULTY].log.producers.state
        break_one(ProducerStates, "expire", lambda state: state is broken)
        clock.now += 48 * HOUR_MS
        await broker.maintenance._expire_producers()
        left = {name: len(each.log.producers.state.producers) for name, each in partitions.items()}
        assert left == {"a": 1, "b": 0, "c": 0}
        assert await faults(broker, "producer expiry") == 1


async def test_offsets_of_other_groups_expire(tmp_path: Path, break_one: Any) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, clock=clock, offsets_retention_minutes=60, **SETTINGS) as broker:
        await make_partitions(broker)
        for name in NAMES:
            await broker.groups.commit_offsets(Committer(group_id=name), [NewOffset(topic="a", partition=0, offset=5)])
        break_one(OffsetRequests, "expire_offsets", lambda group: group.group_id == FAULTY)
        clock.now += 2 * HOUR_MS
        await broker.groups.expire_offsets()
        assert [broker.groups.fetch_offset(name, "a", 0).offset for name in NAMES] == [5, -1, -1]
        assert await faults(broker, "offset expiry") == 1


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    yield ManualClock()


async def begin_transactions(broker: Broker, *, is_open: bool) -> list[TransactionalClient]:
    producers = []
    for name in NAMES:
        client = await RawClient.connect(broker.address.host, broker.address.port)
        producers.append(TransactionalClient(client, name))
        await producers[-1].init(timeout_ms=15_000)
        if is_open:
            assert await producers[-1].add("a", 0) == [ErrorCode.NONE]
    return producers


async def test_transactions_time_out_on(tmp_path: Path, break_one: Any, clock: ManualClock) -> None:
    async with running_broker(tmp_path, clock=clock, **SETTINGS) as broker:
        await make_partitions(broker)
        producers = await begin_transactions(broker, is_open=True)
        break_one(Transaction, "prepare_fence", lambda each: each.transactional_id == FAULTY)
        clock.now += 15_001
        await broker.transactions.abort_timed_out()
        await broker.transactions.await_markers()
        states = {each.transactional_id: each.now.state.label for each in broker.transactions.transactions}
        assert states == {"a": "Ongoing", "b": "CompleteAbort", "c": "CompleteAbort"}
        assert await faults(broker, "transaction timeouts") == 1
        for producer in producers:
            await producer.client.close()


@pytest.mark.parametrize("step", ["has_expired", "as_dead"])
async def test_transactional_ids_expire_on(tmp_path: Path, break_one: Any, clock: ManualClock, step: str) -> None:
    async with running_broker(tmp_path, clock=clock, transactional_id_expiration_ms=1000, **SETTINGS) as broker:
        await make_partitions(broker)
        producers = await begin_transactions(broker, is_open=False)
        break_one(Transaction, step, lambda each: each.transactional_id == FAULTY)
        clock.now += 1001
        await broker.transactions.remove_expired_ids()
        assert [each.transactional_id for each in broker.transactions.transactions] == ["a"]
        assert await faults(broker, "transactional id expiry") == 1
        for producer in producers:
            await producer.client.close()
