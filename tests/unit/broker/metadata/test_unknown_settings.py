"""Fault: records of a directory of ZooKeeper's time were deleted within seconds, by the defaults of the broker.

Topics that are taken over without their settings keep everything until somebody says what their settings are.
"""

import logging
import shutil
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.metadata.config_resources import (
    AlterConfigsOptions,
    alter_topic_settings,
    replace_topic_settings,
)
from stepdown.broker.metadata.topics import NewTopic
from stepdown.broker.metadata.unknown_settings import KEEP_EVERYTHING, MARKER
from stepdown.config.alterations import Alteration, Operation
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from support.admin import write
from support.client import RawClient
from support.clock import ManualClock
from support.record_sets import NOW
from support.running import running_broker
from support.scraping import value

YEAR_MS = 365 * 86_400_000
ROUNDS = {
    "log_retention_check_interval_ms": 1000,
    "log_initial_task_delay_ms": 0,
    "log_cleaner_backoff_ms": 1000,
    "log_retention_bytes": 1,
    "log_segment_bytes": 1000,
    "log_cleanup_policy": "compact,delete",
    "log_cleaner_min_cleanable_ratio": 0.0,
}
"""Settings under which nothing lasts."""
INTERNAL = ("__consumer_offsets", "__transaction_state")


async def fill(directory: Path, *names: str, sets: int = 20) -> None:
    """Leaves the folders of these topics, with 60 records of one key in several segments each, and no metadata."""
    async with (
        running_broker(directory, clock=ManualClock(NOW), log_segment_bytes=400, log_retention_ms=-1) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        settings = broker.topics.configuration.topic_settings({})
        await broker.topics.create([NewTopic(name=name, partitions=1, settings=settings) for name in names])
        for name in names:
            await write(client, name, times=sets)
    shutil.rmtree(directory / FOLDER)


def records_left(broker: Broker, name: str) -> tuple[int, int]:
    """Records by offset, and bytes, which compaction lessens."""
    log = broker.cluster.topics[name].partitions[0].log
    return log.log_end_offset - log.log_start_offset, sum(segment.size for segment in log.segments)


async def retain_and_clean(broker: Broker, clock: ManualClock, rounds: int = 3) -> None:
    """Lets retention and the cleaner have their turns, a year after the records were written."""
    clock.now = NOW + YEAR_MS
    for _ in range(rounds):
        await broker.maintenance.apply_retention()
        await broker.cleaner.clean_all()
        clock.now += 60_000


async def test_nothing_of_a_topic_without_settings_is_deleted_or_compacted(tmp_path: Path) -> None:
    await fill(tmp_path, "orders")
    before = None
    for _ in range(3):  # starts
        async with running_broker(tmp_path, clock=(clock := ManualClock(NOW)), **ROUNDS) as broker:
            before = before or records_left(broker, "orders")
            await retain_and_clean(broker, clock)
            assert records_left(broker, "orders") == before == (60, before[1])
            assert dict(broker.cluster.topics["orders"].overrides) == KEEP_EVERYTHING
    async with running_broker(tmp_path, clock=(clock := ManualClock(NOW)), **ROUNDS) as broker:
        replace_topic_settings(broker.topics, "orders", {}, AlterConfigsOptions(by="test"))
        await retain_and_clean(broker, clock)
        assert records_left(broker, "orders")[0] == 0, "these rounds delete nothing at all"


async def test_records_are_appended_to_it(tmp_path: Path) -> None:
    await fill(tmp_path, "orders")
    async with (
        running_broker(tmp_path, clock=ManualClock(NOW), **ROUNDS) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await write(client, "orders")
        assert records_left(broker, "orders")[0] == 63


async def test_it_is_said_at_every_start_in_one_line_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"orders-{number}" for number in range(7)]
    await fill(tmp_path, *names)
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            async with running_broker(tmp_path, clock=ManualClock(NOW)) as broker:
                assert await value(broker, "stepdown_topics_without_settings") == 7
        (line,) = [each.getMessage() for each in caplog.records if "not known" in each.getMessage()]
        assert "7 topics" in line and "orders-0, " in line and "orders-6" not in line
        assert "stepdown topics adopt" in line


@pytest.mark.parametrize("is_replaced", [True, False], ids=["replaced", "marker removed"])
async def test_settings_that_are_given_end_it_and_act(tmp_path: Path, is_replaced: bool) -> None:
    await fill(tmp_path, "orders")
    async with running_broker(tmp_path, clock=(clock := ManualClock(NOW))) as broker:
        if is_replaced:
            replace_topic_settings(broker.topics, "orders", {"retention.ms": "1000"}, AlterConfigsOptions(by="test"))
        else:
            changes = [Alteration("retention.ms", Operation.SET, "1000"), Alteration(MARKER, Operation.DELETE)]
            alter_topic_settings(broker.topics, "orders", changes, AlterConfigsOptions(by="test"))
        assert await value(broker, "stepdown_topics_without_settings") == 0
        await retain_and_clean(broker, clock)
        assert records_left(broker, "orders")[0] == 0


@pytest.mark.parametrize("policy", ["delete", "compact"])
async def test_the_first_deletion_is_said_a_minute_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str
) -> None:
    await fill(tmp_path, "orders")
    async with running_broker(tmp_path, clock=(clock := ManualClock(NOW))) as broker:
        before = records_left(broker, "orders")
        replace_topic_settings(
            broker.topics, "orders", {"cleanup.policy": policy, "segment.ms": "1"}, AlterConfigsOptions(by="test")
        )
        clock.now = NOW + YEAR_MS
        for passed_ms in (0, 30_000, 59_999):
            clock.now = NOW + YEAR_MS + passed_ms
            await broker.maintenance.apply_retention()
            await broker.cleaner.clean_all()
            assert records_left(broker, "orders") == before
        (line,) = [each.getMessage() for each in caplog.records if "was taken over" in each.getMessage()]
        assert line.startswith("orders-0 was taken over; in a minute its first records are deleted: ")
        assert f"{before[1]} bytes: retention.ms=604800000" in line or "cleanup.policy=compact" in line
        clock.now += 1
        await broker.maintenance.apply_retention()
        await broker.cleaner.clean_all()
        assert records_left(broker, "orders") < before


def notices(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if "was taken over" in each.getMessage()]


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "stopped"])
@pytest.mark.parametrize("policy", ["delete", "compact"])
async def test_a_restart_begins_the_minute_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str, is_killed: bool
) -> None:
    """Fault: a broker that was restarted within the minute deleted at once, and said nothing."""
    await fill(tmp_path, "orders")
    clock = ManualClock(NOW)
    for number in range(3):
        async with running_broker(tmp_path, clock=clock) as broker:
            if number == 0:
                before = records_left(broker, "orders")
                configs = {"cleanup.policy": policy, "segment.ms": "1"}
                replace_topic_settings(broker.topics, "orders", configs, AlterConfigsOptions(by="test"))
            clock.now += YEAR_MS if number == 0 else 59_999
            for passed_ms in (0, 59_999):
                clock.now += passed_ms
                await broker.maintenance.apply_retention()
                await broker.cleaner.clean_all()
                assert records_left(broker, "orders") == before
            assert len(notices(caplog)) == number + 1
            if number == 2:
                clock.now += 1
                await broker.maintenance.apply_retention()
                await broker.cleaner.clean_all()
                assert records_left(broker, "orders") < before
            elif is_killed:
                broker.stop = broker.kill  # type: ignore[method-assign]
    async with running_broker(tmp_path, clock=clock) as broker:
        await broker.maintenance.apply_retention()
        assert broker.first_deletion_delay._waiting == set()
    assert len(notices(caplog)) == 3


async def test_a_topic_that_is_made_again_under_the_name_has_no_notice(tmp_path: Path) -> None:
    await fill(tmp_path, "orders")
    async with running_broker(tmp_path, clock=ManualClock(NOW)) as broker:
        settings = broker.topics.configuration.topic_settings({})
        await broker.topics.delete(["orders"])
        await broker.topics.create([NewTopic(name="orders", partitions=1, settings=settings)])
        partition = broker.cluster.topics["orders"].partitions[0]
        assert broker.first_deletion_delay.may_delete(partition, lambda: ["something"])


async def test_a_change_of_another_setting_keeps_the_rest(tmp_path: Path) -> None:
    await fill(tmp_path, "orders")
    async with running_broker(tmp_path, clock=(clock := ManualClock(NOW)), **ROUNDS) as broker:
        alter_topic_settings(
            broker.topics, "orders", [Alteration("segment.ms", Operation.SET, "5")], AlterConfigsOptions(by="test")
        )
        assert broker.cluster.topics["orders"].overrides == {**KEEP_EVERYTHING, "segment.ms": "5"}
        await retain_and_clean(broker, clock)
        assert records_left(broker, "orders")[0] == 60


@pytest.mark.parametrize("has_record", [True, False], ids=["recorded without them", "not recorded"])
async def test_internal_topics_have_kafkas_settings_at_every_start(tmp_path: Path, has_record: bool) -> None:
    """Fault: at the second start their records were deleted by age, and with them all committed offsets."""
    await fill(tmp_path, *INTERNAL, sets=0)
    if has_record:
        async with running_broker(tmp_path, clock=ManualClock(NOW)) as broker:
            with broker.topics.store.change() as state:
                for name in INTERNAL:
                    state.topics[name].configs.clear()  # type: ignore[attr-defined]
    for _ in range(3):  # starts
        async with running_broker(tmp_path, clock=ManualClock(NOW)) as broker:
            for name in INTERNAL:
                topic = broker.cluster.topics[name]
                assert topic.settings.cleanup_policy == ("compact",)
                assert topic.settings.segment_bytes == 104_857_600
                assert not topic.settings.stepdown_settings_unknown
            assert broker.cluster.topics["__consumer_offsets"].settings.compression_type == "producer"
            assert broker.cluster.topics["__transaction_state"].settings.min_insync_replicas == 1
