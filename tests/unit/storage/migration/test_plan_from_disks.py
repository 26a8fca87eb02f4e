"""Without ZooKeeper: the replica with the highest epoch, then the highest end, leads alone."""

import shutil
from pathlib import Path
from uuid import UUID

import pytest
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import write_topic_id
from stepdown.storage.migration.directory_survey import RefusedDirectory
from support.migrating import Migration, write_directory, write_replica


@pytest.fixture
def migration(tmp_path: Path) -> Migration:
    return Migration(tmp_path, {each: [write_directory(tmp_path / f"{each}", each)] for each in (1, 2, 3)}, None)


def test_the_highest_epoch_then_the_highest_end_leads_alone(migration: Migration) -> None:
    for broker_id, epoch, records in ((1, 4, 90), (2, 6, 20), (3, 6, 40)):
        write_replica(migration.brokers[broker_id][0], "orders", 0, records, epochs=[(0, 0), (epoch, 10)])
    made = migration.plan()
    (record,) = made.state.topics["orders"].replicas
    assert (record.replicas, record.isr, record.leader, record.leader_epoch) == ((3, 1, 2), (3,), 3, 7)
    assert ["40 to 89 that only broker 1 has" in line for line in made.lost if "orders-0" in line] == [True]
    assert made.state.topics["orders"].configs["retention.ms"] == "-1"
    assert made.state.next_producer_id >= 1_000_000


@pytest.mark.parametrize("magic", [0, 1])
def test_replicas_that_carry_no_epochs_are_set_aside_and_come_back(migration: Migration, magic: int) -> None:
    write_replica(migration.brokers[1][0], "orders", 0, 20, magic=magic)
    write_replica(migration.brokers[2][0], "orders", 0, 40, magic=magic)
    write_replica(migration.brokers[3][0], "orders", 0, 0, magic=magic)
    before = migration.contents()
    made = migration.plan()
    assert {key: each.set_aside for key, each in made.brokers.items()} == {1: ("orders-0",), 2: (), 3: ()}
    migration.apply()
    (aside,) = migration.brokers[1][0].glob("orders-0.*-stray")
    migration.apply()
    assert [aside] == list(migration.brokers[1][0].glob("orders-0*"))
    migration.undo()
    assert contents_without_times(migration.contents()) == contents_without_times(before)


def contents_without_times(found: dict[str, tuple[bytes, int]]) -> dict[str, bytes]:
    return {path: data for path, (data, _) in found.items()}


def test_a_partition_on_no_disk_stops(migration: Migration) -> None:
    write_replica(migration.brokers[1][0], "orders", 2)
    assert "2 of 3 partitions are on no disk (0, 1)" in migration.plan().stops[0]


def test_a_partition_in_two_directories_stops(migration: Migration, tmp_path: Path) -> None:
    """Fault: one of both was taken without a word, and Kafka did not start."""
    migration.brokers[1].append(write_directory(tmp_path / "more", 1))
    for path in migration.brokers[1]:
        write_replica(path, "orders", 0)
    assert ["in two directories" in line for line in migration.plan().stops] == [True]


def test_a_copied_folder_of_another_name_stops(migration: Migration) -> None:
    """Its id is that of the topic that it was copied from, and Kafka would have one topic of both."""
    path = migration.brokers[1][0]
    folder = write_replica(path, "orders", 0)
    write_topic_id(Files(), str(folder), UUID(int=7777))
    shutil.copytree(folder, path / "backup-0")
    assert ["the topics backup, orders have one id" in line for line in migration.plan().stops] == [True]


def test_a_folder_that_is_named_by_a_date_is_no_partition(migration: Migration) -> None:
    """Fault: a topic of twenty million partitions was planned for it."""
    write_replica(migration.brokers[1][0], "backup", 20261128)
    with pytest.raises(RefusedDirectory, match="backup-20261128: a topic has at most"):
        migration.plan()


def test_disks_of_several_clusters_are_refused(migration: Migration, tmp_path: Path) -> None:
    migration.brokers[4] = [write_directory(tmp_path / "4", 4, cluster_id="other")]
    with pytest.raises(RefusedDirectory, match="several clusters"):
        migration.plan()
