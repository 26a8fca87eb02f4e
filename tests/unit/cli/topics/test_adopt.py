"""`stepdown topics adopt`, on a running broker and on a directory at rest."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from stepdown.broker.metadata.configuration import log_config_of
from stepdown.broker.metadata.topics import NewTopic
from stepdown.broker.metadata.unknown_settings import KEEP_EVERYTHING
from stepdown.cli.support.bootstrap_server import connect_client
from stepdown.cli.topics.running_topics import RunningTopics
from stepdown.storage.files.files import Files
from stepdown.storage.log.log_config import LogConfig
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from stepdown.storage.metadata.metadata_store import MetadataStore
from support.admin import write
from support.client import RawClient
from support.command import Finished, run_command
from support.running import running_broker

Adopt = Callable[..., Awaitable[Finished]]
NAMES = ("audit-1", "audit-2", "orders")


async def fill(directory: Path) -> None:
    """Leaves three topics with 60 records of one key each in segments of three, and no metadata."""
    async with (
        running_broker(directory, log_segment_bytes=130, log_retention_ms=-1) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        settings = broker.topics.configuration.topic_settings({})
        await broker.topics.create([NewTopic(name=name, partitions=1, settings=settings) for name in NAMES])
        for name in NAMES:
            await write(client, name, times=20)
    shutil.rmtree(directory / FOLDER)


@pytest.fixture(params=["running", "at rest"])
async def adopt(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Adopt]:
    """Runs the command in one of its two ways."""
    data = tmp_path / "data"
    await fill(data)
    if request.param == "at rest":
        yield lambda *words: asyncio.to_thread(run_command, "topics", "adopt", *words, "--log-dir", str(data))
        return
    async with running_broker(data, log_initial_task_delay_ms=10**9, log_cleaner_enable="false") as broker:
        yield lambda *words: asyncio.to_thread(run_command, "topics", "adopt", *words, "-b", str(broker.address))


async def settings_of(directory: Path) -> dict[str, dict[str, str]]:
    """What a broker at its next start has for each topic."""
    store = MetadataStore.open(Files(), [str(directory)])
    return {name: dict(stored.configs) for name, stored in store.state.topics.items()}


async def test_by_defaults_all_topics_have_the_brokers_settings(adopt: Adopt, tmp_path: Path) -> None:
    """What a running broker would delete then was only in its log: records of 2017 were gone a minute later."""
    done = await adopt("--defaults")
    assert done.exit_code == 0, done.stderr
    for name in NAMES:
        assert f"{name}: the broker's defaults; retention would delete " in done.stdout
    assert "stepdown topics alter TOPIC -c retention.ms=-1" in done.stderr
    assert done.stdout.splitlines()[-3:] == [f"{name}: adopted, the broker's defaults" for name in NAMES]
    assert await settings_of(tmp_path / "data") == {name: {} for name in NAMES}


async def test_by_hand_for_a_pattern_others_stay_unknown(adopt: Adopt, tmp_path: Path) -> None:
    done = await adopt("audit-*", "-o", "cleanup.policy=compact", "-o", "segment.ms=5")
    assert done.exit_code == 0, done.stderr
    found = await settings_of(tmp_path / "data")
    assert found["audit-1"] == found["audit-2"] == {"cleanup.policy": "compact", "segment.ms": "5"}
    assert found["orders"]["stepdown.settings.unknown"] == "true"


async def test_a_second_time_nothing_changes(adopt: Adopt, tmp_path: Path) -> None:
    await adopt("orders", "-o", "retention.ms=-1")
    again = await adopt("orders", "--defaults")
    assert (again.exit_code, again.stdout) == (0, "no topic of these is without settings: nothing was changed\n")
    assert (await settings_of(tmp_path / "data"))["orders"] == {"retention.ms": "-1"}


async def test_from_a_file_and_what_is_missing_is_named(adopt: Adopt, tmp_path: Path) -> None:
    (file := tmp_path / "topics.txt").write_text(
        "Topic:orders\tPartitionCount:1\tReplicationFactor:1\tConfigs:cleanup.policy=compact,delete,retention.ms=5\n"
        "Topic:audit-1\tPartitionCount:1\tReplicationFactor:1\tConfigs:\n"
        "Topic:gone\tPartitionCount:2\tReplicationFactor:1\tConfigs:\n"
    )
    done = await adopt("--from", str(file))
    assert done.exit_code == 0, done.stderr
    found = await settings_of(tmp_path / "data")
    assert found["orders"] == {"cleanup.policy": "compact,delete", "retention.ms": "5"}
    assert found["audit-1"] == {}
    assert found["audit-2"]["stepdown.settings.unknown"] == "true"
    assert "missing: gone: 2 partitions were described, 0 are here" in done.stderr
    assert "1 topic without settings" in done.stderr


async def test_a_file_that_names_more_partitions_than_are_here_is_not_taken_at_rest(
    adopt: Adopt, tmp_path: Path
) -> None:
    """With the directory of the last partitions forgotten the topic got fewer, and theirs were set aside as strays."""
    (file := tmp_path / "topics.txt").write_text(
        "Topic:orders\tPartitionCount:3\tReplicationFactor:1\tConfigs:retention.ms=5\n"
    )
    done = await adopt("--from", str(file))
    if done.exit_code == 0:  # the broker has taken it over as it is
        assert "missing: orders: 3 partitions were described, 1 are here" in done.stderr
    else:
        assert "2 partitions have no folder in the directories given (orders-1, orders-2)" in done.stderr
        assert "nothing was changed" in done.stderr
        assert not (tmp_path / "data" / FOLDER).exists()


async def test_a_dry_run_counts_and_changes_nothing(adopt: Adopt, tmp_path: Path) -> None:
    policy = ("-o", "cleanup.policy=compact,delete", "-o", "retention.ms=-1", "-o", "retention.bytes=1000")
    counted = await adopt("orders", "--dry-run", *policy)
    assert counted.exit_code == 0, counted.stderr
    assert (await settings_of(tmp_path / "data")).get("orders", KEEP_EVERYTHING) == KEEP_EVERYTHING
    found = re.fullmatch(
        r"orders: cleanup.policy=compact,delete, retention.bytes=1000, retention.ms=-1; "
        r"retention would delete (\d+) records \(\d+ bytes\), compaction (\d+)\n",
        counted.stdout,
    )
    assert found is not None, counted.stdout
    retained_away, compacted_away = map(int, found.groups())
    assert 0 < retained_away < 57
    assert retained_away + compacted_away == 60 - 3 - 1, "the active segment's and one record of the key stay"


def settings_by_default(address: str, topic: str) -> LogConfig:
    with connect_client(address) as client:
        return RunningTopics(client).log_config_of(topic, {})


@pytest.mark.parametrize(
    "retention",
    [{}, {"log_retention_hours": 168}, {"log_retention_minutes": 10_000}, {"log_retention_ms": 600_000_000}],
    ids=str,
)
async def test_a_broker_is_asked_for_its_retention_in_any_unit(tmp_path: Path, retention: dict[str, int]) -> None:
    """The hours of log.retention.hours were taken for milliseconds, so that all records seemed to go."""
    await fill(tmp_path / "data")
    async with running_broker(tmp_path / "data", log_initial_task_delay_ms=10**9, **retention) as broker:
        expected = log_config_of(broker.topics.configuration.topic_settings({}))
        found = await asyncio.to_thread(settings_by_default, str(broker.address), "orders")
    assert found == expected


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "it is not said what the settings are"),
        (["--defaults", "-o", "retention.ms=1"], "--defaults and -o cannot be given together"),
        (["--defaults", "--from", "/dev/null"], "--defaults and --from cannot be given together"),
        (["-o", "retention.mss=1"], "retention.ms"),
        (["--from", "/nothing/there"], "cannot be read: No such file or directory"),
    ],
)
async def test_what_cannot_be_done_is_said_and_changes_nothing(
    adopt: Adopt, tmp_path: Path, words: list[str], told: str
) -> None:
    done = await adopt(*words)
    assert done.exit_code == 2
    assert told in done.stderr


async def test_a_directory_that_a_broker_has_open_is_refused(tmp_path: Path) -> None:
    await fill(tmp_path / "data")
    async with running_broker(tmp_path / "data"):
        done = await asyncio.to_thread(
            run_command, "topics", "adopt", "--defaults", "--log-dir", str(tmp_path / "data")
        )
    assert done.exit_code == 1
    assert "is in use by another broker" in done.stderr
    assert "--bootstrap-server" in done.stderr


async def test_what_is_adopted_at_rest_waits_for_its_notice_at_the_next_start(tmp_path: Path) -> None:
    """Fault: the next start deleted at once."""
    await fill(tmp_path / "data")
    done = await asyncio.to_thread(run_command, "topics", "adopt", "--defaults", "--log-dir", str(tmp_path / "data"))
    assert done.exit_code == 0
    async with running_broker(tmp_path / "data", log_initial_task_delay_ms=10**9) as broker:
        partition = broker.cluster.topics["orders"].partitions[0]
        assert not broker.first_deletion_delay.may_delete(partition, lambda: ["all of it"])


EXAMPLE = "Topic:{}\tPartitionCount:1\tReplicationFactor:1\tConfigs:\n"


@pytest.mark.parametrize(
    ("words", "text", "told"),
    [
        (["nothere", "--defaults"], "", "no topic is called nothere"),
        (["orders", "nope-*", "--defaults"], "", "no topic is called nope-*"),
        (["--from", "topics.txt"], "", "no topic is described there"),
        (["--from", "topics.txt"], EXAMPLE.format("elsewhere"), "none of the topics that were described is here"),
    ],
)
@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
async def test_what_stands_for_no_topic_is_refused(
    adopt: Adopt, tmp_path: Path, words: list[str], text: str, told: str, dry_run: list[str]
) -> None:
    """Fault: a topic that is not there, or a file without topics, ended with status 0 and as if all were well."""
    (file := tmp_path / "topics.txt").write_text(text)
    had_metadata = (tmp_path / "data" / FOLDER).exists()
    done = await adopt(*[str(file) if word == file.name else word for word in words], *dry_run)
    assert (done.exit_code, told in done.stderr, done.stdout) == (1, True, ""), done.stderr
    assert (tmp_path / "data" / FOLDER).exists() == had_metadata


async def test_at_rest_nobody_is_told_to_adopt_what_is_adopted_now(tmp_path: Path) -> None:
    """Fault: the command warned that the settings are not known until it says what they are."""
    await fill(tmp_path / "data")
    at_rest = ("topics", "adopt", "--defaults", "--log-dir", str(tmp_path / "data"))
    done = await asyncio.to_thread(run_command, *at_rest)
    assert done.exit_code == 0
    assert "are not known" not in done.stderr


async def test_a_fault_of_the_disk_at_rest_is_no_hint_at_a_running_broker(tmp_path: Path) -> None:
    """Fault: whatever was wrong with the disk, the hint was to ask the broker that has the directories open."""
    await fill(tmp_path / "data")
    (tmp_path / "data" / ".kafka_cleanshutdown").unlink()
    (tmp_path / "data" / ".kafka_cleanshutdown").mkdir()
    at_rest = ("topics", "adopt", "--defaults", "--log-dir", str(tmp_path / "data"))
    done = await asyncio.to_thread(run_command, *at_rest)
    assert done.exit_code == 1
    assert ".kafka_cleanshutdown" in done.stderr
    assert "--bootstrap-server" not in done.stderr
