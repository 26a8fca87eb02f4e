"""`stepdown topics adopt --log-dir --from`: the numbers of partitions by which groups and transactions are found."""

import shutil
from pathlib import Path

import pytest
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.metadata_log_contents import FOLDER
from stepdown.storage.metadata.metadata_store import MetadataStore
from support.command import Finished, run_command
from support.running import running_broker

OFFSETS = "__consumer_offsets"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """What is left of one broker of several: partition 2 of __consumer_offsets."""
    (tmp_path / "data" / f"{OFFSETS}-2").mkdir(parents=True)
    return tmp_path / "data"


def adopt(directory: Path, count: int, *words: str) -> Finished:
    (file := directory.parent / "topics.txt").write_text(
        f"Topic:{OFFSETS}\tPartitionCount:{count}\tReplicationFactor:1\tConfigs:cleanup.policy=compact\n"
    )
    return run_command("topics", "adopt", "--from", str(file), "--log-dir", str(directory), *words)


def replicas(directory: Path) -> list[tuple[int, ...]]:
    return [record.replicas for record in MetadataStore.open(Files(), [str(directory)]).state.topics[OFFSETS].replicas]


def test_a_directory_is_taken_over_with_the_number_of_the_file(data: Path) -> None:
    done = adopt(data, 5)
    assert done.exit_code == 0, done.stderr
    assert replicas(data) == [(), (), (1,), (), ()]


@pytest.mark.parametrize("count", [4, 60])
async def test_one_that_was_taken_over_by_the_setting_gets_the_number_of_the_file(data: Path, count: int) -> None:
    async with running_broker(data):
        pass
    assert len(replicas(data)) == 50
    tried = adopt(data, count, "--dry-run")
    assert f"{OFFSETS}: {count} partitions instead of 50" in tried.stdout
    assert len(replicas(data)) == 50
    done = adopt(data, count)
    assert done.exit_code == 0, done.stderr
    assert replicas(data) == [(), (), (1,), *[()] * (count - 3)]
    assert not list((data / FOLDER).glob("*.log")), "a snapshot has the topic as it is, and was never without it"
    async with running_broker(data) as broker:
        assert len(broker.cluster.topics[OFFSETS].partitions) == count
    assert (data / f"{OFFSETS}-2").is_dir()


def test_a_number_that_a_folder_contradicts_is_refused(data: Path) -> None:
    first = adopt(data, 2)
    assert (first.exit_code, "has a folder of partition 2" in first.stderr) == (1, True)
    shutil.rmtree(data / FOLDER, ignore_errors=True)
    assert adopt(data, 5).exit_code == 0
    later = adopt(data, 2)
    assert (later.exit_code, "a folder of partition 2 is here" in later.stderr) == (1, True)
    assert len(replicas(data)) == 5
