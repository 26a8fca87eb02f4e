"""`stepdown metadata prepare`: what Kafka of a release refuses is left out or brought within limits, a line each."""

from pathlib import Path
from uuid import UUID

import pytest
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.cluster_state import METADATA_VERSION, StoredTopic
from stepdown.storage.metadata.metadata_store import MetadataStore
from stepdown.storage.metadata.partition_record import NO_LEADER, PartitionRecord
from support.command import run_command
from support.running import running_broker

ALONE = PartitionRecord(replicas=(1,), isr=(1,), leader=1)
ABSENT = PartitionRecord(replicas=(), isr=(), leader=NO_LEADER)
SMALL = {"segment.bytes": "20000", "segment.ms": "0", "flush.messages": "0", "retention.ms": "-7"}
OLD = {"message.format.version": "2.0", "message.timestamp.difference.max.ms": "1000", "cleanup.policy": "compact"}
UNKNOWN = {"retention.bytes": "-1", "stepdown.settings.unknown": "true"}


def stored(number: int, configs: dict[str, str], *records: PartitionRecord) -> StoredTopic:
    return StoredTopic(topic_id=UUID(int=number), replicas=records or (ALONE,), configs=configs)


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A directory whose metadata no Kafka takes as they are."""
    async with running_broker(tmp_path / "data") as broker:
        with broker.topics.store.change() as state:
            state.topics = {
                "small": stored(1001, SMALL),
                "old": stored(1002, OLD),
                "unknown": stored(1003, UNKNOWN),
                "__consumer_offsets": stored(1004, {}, ABSENT, ALONE, ALONE),
            }
            state.cluster_configs = {"log.segment.bytes": "20000", "log.retention.ms": "9000"}
    for folder in ("small-0", "old-0", "unknown-0", "__consumer_offsets-1", "__consumer_offsets-2"):
        (tmp_path / "data" / folder).mkdir()
    return tmp_path / "data"


def configs_of(directory: Path) -> dict[str, dict[str, str]]:
    store = MetadataStore.open(Files(), [str(directory)])
    return {name: dict(topic.configs) for name, topic in store.state.topics.items()}


def test_kafka_3_9_takes_small_segments_and_old_settings(data: Path) -> None:
    done = run_command("metadata", "prepare", data, "--for", "3.9")
    assert done.exit_code == 0, done.stderr
    assert configs_of(data) | {"__consumer_offsets": {}} == {
        "small": {"segment.bytes": "20000", "segment.ms": "1", "flush.messages": "1", "retention.ms": "-1"},
        "old": OLD,
        "unknown": {"retention.bytes": "-1"},
        "__consumer_offsets": {},
    }


@pytest.mark.parametrize("release", ["4.0", "4.4"])
def test_kafka_4_has_larger_segments_and_other_settings(data: Path, release: str) -> None:
    done = run_command("metadata", "prepare", data, "--for", release)
    assert done.exit_code == 0, done.stderr
    found = configs_of(data)
    assert ("stepdown.settings.unknown" in found["unknown"]) == (release == "4.4")
    assert found["small"]["segment.bytes"] == "1048576"
    assert found["old"] == {
        "message.timestamp.before.max.ms": "1000",
        "message.timestamp.after.max.ms": "1000",
        "cleanup.policy": "compact",
    }
    state = MetadataStore.open(Files(), [str(data)]).state
    assert state.cluster_configs == {"log.segment.bytes": "1048576", "log.retention.ms": "9000"}


def test_each_change_has_its_line_and_the_properties_are_printed(data: Path) -> None:
    done = run_command("metadata", "prepare", data, "--for", "4.4")
    assert sorted(done.stderr.splitlines()) == [
        "__consumer_offsets: 1 of 3 partitions have no replica here and no leader in Kafka",
        "all brokers: log.segment.bytes=20000 becomes 1048576, the least that Kafka 4.4 takes",
        "old: message.format.version=2.0 is left out, Kafka 4.4 does not know it",
        "old: message.timestamp.after.max.ms=1000 in its place",
        "old: message.timestamp.before.max.ms=1000 in its place",
        "old: message.timestamp.difference.max.ms=1000 is left out, Kafka 4.4 does not know it",
        "small: flush.messages=0 becomes 1, the least that Kafka 4.4 takes",
        "small: retention.ms=-7 becomes -1, the least that Kafka 4.4 takes",
        "small: segment.bytes=20000 becomes 1048576, the least that Kafka 4.4 takes",
        "small: segment.ms=0 becomes 1, the least that Kafka 4.4 takes",
        "the metadata were written",
    ]
    assert f"log.dirs={data}" in done.stdout.splitlines()
    assert "offsets.topic.num.partitions=3" in done.stdout.splitlines()
    assert "transaction.state.log.num.partitions=50" in done.stdout.splitlines()


def test_a_dry_run_says_the_same_and_changes_nothing(data: Path) -> None:
    """Nothing told the two apart."""
    before = contents(data)
    tried = run_command("metadata", "prepare", data, "--for", "4.4", "--dry-run")
    assert contents(data) == before
    done = run_command("metadata", "prepare", data, "--for", "4.4")
    told = tried.stderr.replace("nothing was changed, as --dry-run asks", "the metadata were written")
    assert (tried.stdout, told) == (done.stdout, done.stderr)
    assert tried.stderr != done.stderr
    assert not run_command("metadata", "prepare", data, "--for", "4.4").stderr.count("becomes")


def test_a_level_that_is_too_high_is_refused(data: Path) -> None:
    store = MetadataStore.open(Files(), [str(data)])
    with store.change() as state:
        state.features = {**state.features, METADATA_VERSION: 25}
    done = run_command("metadata", "prepare", data, "--for", "3.9")
    assert done.exit_code == 1
    assert "metadata.version is 25, and Kafka 3.9 opens at most 21" in done.stderr


def test_a_release_that_is_not_known_is_refused(tmp_path: Path) -> None:
    done = run_command("metadata", "prepare", tmp_path, "--for", "2.8")
    assert done.exit_code == 2
    assert "3.9 or 4.0 or 4.4 expected" in done.stderr
    assert not list(tmp_path.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    """All files below it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [(), ("--dry-run",)], ids=["changing", "dry run"])
def test_directories_without_folders_of_partitions_stay_as_they_are(data: Path, words: tuple[str, ...]) -> None:
    """With one log directory forgotten, its partitions were made anew, empty, also by a dry run."""
    (data / "small-0").rename(data.parent / "small-0")
    before = contents(data)
    done = run_command("metadata", "prepare", data, "--for", "4.4", *words)
    assert done.exit_code == 1
    assert "1 partitions have no folder in the directories given (small-0); nothing was changed" in done.stderr
    assert contents(data) == before


@pytest.mark.parametrize(
    "command", [("metadata", "prepare", "--for", "4.4"), ("topics", "adopt", "--defaults")], ids=" ".join
)
def test_all_directories_of_the_properties_are_named(data: Path, command: tuple[str, ...]) -> None:
    """What lies in a directory that was forgotten counted as gone."""
    (file := data.parent / "server.properties").write_text(f"log.dirs={data},{data.parent}/other\n")
    before = contents(data)
    given = ("--log-dir", data) if command[0] == "topics" else (data,)
    done = run_command(*command, *given, "--config", file)
    assert done.exit_code == 2
    assert "and 1 directories are given" in done.stderr
    assert contents(data) == before


@pytest.mark.parametrize("words", [(), ("--dry-run",)], ids=["changing", "dry run"])
def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A misspelt path became a new cluster, with status 0."""
    done = run_command("metadata", "prepare", tmp_path / "typo", "--for", "4.4", *words)
    assert done.exit_code == 1
    assert "there is no such directory; is its disk mounted?" in done.stderr
    assert not (tmp_path / "typo").exists()
