"""Fault: a directory of ZooKeeper days lost all records within seconds, and committed offsets at the second start.

Real brokers of 0.10.2, 1.1.1 and 2.8.2 leave directories. stepdown serves each with retention and cleaning all the time
under settings that keep nothing; then topics are adopted from what Kafka's tools said, and the policies work.
"""

import asyncio
import shutil
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.cli.topics.kafka_tool_output import ToolOutput
from stepdown.protocol.errors import ApiError
from support.clock import ManualClock
from support.command import run_command
from support.deadline import DEADLINE_S
from support.running import running_broker
from support.zookeeper_directory import PARTITIONS, SETTINGS, ZooKeeperDirectory, leave_directory

pytestmark = pytest.mark.java

VERSIONS = ("0.10.2.2", "1.1.1", "2.8.2")
STARTS = 3
ROUNDS = 20
SOAK_S = 600
WEEK_MS = 7 * 86_400_000
KEEPS_NOTHING = {
    "log_retention_check_interval_ms": 1000,
    "log_initial_task_delay_ms": 0,
    "log_cleaner_backoff_ms": 1000,
    "log_cleaner_min_cleanable_ratio": 0.0,
    "log_retention_ms": 1000,
    "log_retention_bytes": 1,
    "log_cleanup_policy": "compact,delete",
    "log_segment_bytes": 1000,
    "log_segment_delete_delay_ms": 0,
}


@pytest.fixture(scope="module", params=VERSIONS, ids="of {}".format)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ZooKeeperDirectory:
    return leave_directory(tmp_path_factory.mktemp("old"), request.param)


@pytest.fixture
def data(left: ZooKeeperDirectory, tmp_path: Path) -> Path:
    """A copy of the directory, with its file times."""
    return Path(shutil.copytree(left.log_dir, tmp_path / "data"))


def sizes(broker: Broker) -> dict[tuple[str, int], tuple[int, int, int]]:
    """Start, end and bytes of each partition of the topics; bytes grow fewer where anything is compacted."""
    return {
        (name, index): (each.log.log_start_offset, each.log.log_end_offset, each.log.segments.size_bytes)
        for name in SETTINGS
        for index, each in broker.cluster.topics[name].partitions.items()
    }


async def committed(broker: Broker, left: ZooKeeperDirectory) -> dict[tuple[str, str, int], int]:
    groups = broker.groups
    for group in {key[0] for key in left.committed}:
        await until_loaded(broker, group)
    return {key: groups.fetch_offset(*key).offset for key in left.committed}


async def until_loaded(broker: Broker, group: str) -> None:
    """Returns when the coordinator has read what groups committed."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                await broker.groups.ensure_topic_and_check(group)
                return
            except ApiError:
                await asyncio.sleep(0)


async def retain_and_clean(broker: Broker, clock: ManualClock, rounds: int, step_ms: int) -> None:
    """So many rounds of retention and of the cleaner, between which time moves."""
    for _ in range(rounds):
        clock.now += step_ms
        await broker.maintenance.apply_retention()
        await broker.cleaner.clean_all()


def now_ms(data: Path) -> int:
    """When the old broker stopped."""
    return int(max(path.stat().st_mtime for path in data.rglob("*.log")) * 1000)


async def check_nothing_is_lost(broker: Broker, left: ZooKeeperDirectory) -> None:
    for (name, index), (start, end, _) in sizes(broker).items():
        assert (start, end) == (0, left.ends[name, index]), (name, index)
    assert await committed(broker, left) == left.committed
    if left.has_transactions:
        log = broker.cluster.topics["default"].partitions[1]
        assert log.last_stable_offset == left.ends["default", 1] - 1, "the transaction is open still"


async def test_not_one_record_or_committed_offset_is_lost_over_three_starts(
    left: ZooKeeperDirectory, data: Path
) -> None:
    before = None
    for start in range(STARTS):
        # The transaction times out after 15 minutes: its time does not come here.
        clock = ManualClock(now_ms(data) + start * 1000)
        async with running_broker(data, clock=clock, **KEEPS_NOTHING) as broker:
            before = before or sizes(broker)
            await check_nothing_is_lost(broker, left)
            await retain_and_clean(broker, clock, ROUNDS, step_ms=5000)
            assert sizes(broker) == before
            await check_nothing_is_lost(broker, left)


@pytest.mark.slow
async def test_ten_minutes_lose_nothing(left: ZooKeeperDirectory, data: Path) -> None:
    """As the first test, with the timers of the broker itself."""
    before = None
    for _ in range(STARTS):
        async with running_broker(data, **KEEPS_NOTHING) as broker:
            before = before or sizes(broker)
            for _ in range(SOAK_S // STARTS // 5):
                await asyncio.sleep(5)  # noqa: ASYNC251, RUF100
                assert sizes(broker) == before
            await check_nothing_is_lost(broker, left)


@pytest.mark.parametrize("tool", ["topics", "configs"])
async def test_after_adoption_the_settings_are_what_kafkas_tools_said_and_act(
    left: ZooKeeperDirectory, data: Path, tool: str, tmp_path: Path
) -> None:
    text = left.topics_text if tool == "topics" else left.configs_text
    (file := tmp_path / "described.txt").write_text(text)
    (described := ToolOutput()).read(text.splitlines(), "described")
    done = await asyncio.to_thread(run_command, "topics", "adopt", "--log-dir", str(data), "--from", str(file))
    assert done.exit_code == 0, done.stderr
    clock = ManualClock(now_ms(data))
    async with running_broker(data, clock=clock, log_cleaner_min_cleanable_ratio=0.0) as broker:
        for name in SETTINGS:
            assert broker.cluster.topics[name].overrides == described.topics[name].configs == dict(SETTINGS[name])
        before = sizes(broker)
        await retain_and_clean(broker, clock, 2, step_ms=WEEK_MS)
        after = sizes(broker)
        for index in range(PARTITIONS):
            assert after["kept-for-ever", index] == before["kept-for-ever", index]
            assert after["compacted", index][2] < before["compacted", index][2] / 2
            assert after["compacted", index][:2] == before["compacted", index][:2]
            for name in ("short-lived", "both", "default"):
                if (name, index) != ("default", 1):
                    assert after[name, index][0] == before[name, index][1], (name, index)
        assert await committed(broker, left) == left.committed
