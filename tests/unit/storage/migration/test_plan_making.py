"""What a plan takes of ZooKeeper and the disks: nobody enters an ISR, epochs are above all, what is lost is said."""

import json
from pathlib import Path
from typing import Any

import pytest
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import decode_uuid, write_topic_id
from stepdown.storage.migration.directory_survey import RefusedDirectory, hold_locks, survey_broker
from stepdown.storage.migration.migration_plan import MigrationPlan
from support.migrating import CLUSTER_ID, Migration, Partition, cluster_of, write_directory, write_replica


@pytest.fixture
def disks(tmp_path: Path) -> dict[int, list[Path]]:
    return {each: [write_directory(tmp_path / f"{each}", each)] for each in (1, 2, 3)}


def plan(tmp_path: Path, disks: dict[int, list[Path]], partition: Partition, **more: Any) -> MigrationPlan:
    nodes = {path: json.dumps(value).encode() for path, value in more.get("nodes", {}).items()}
    return Migration(tmp_path, disks, cluster_of({"orders": [partition]}, nodes)).plan()


def fill(disks: dict[int, list[Path]], *brokers: int, epoch: int = 4, **fields: Any) -> None:
    for broker_id in brokers:
        write_replica(disks[broker_id][0], "orders", 0, epochs=[(0, 0), (epoch, 10)], **fields)


def test_leader_and_isr_are_those_of_zookeeper_and_the_epoch_is_above(tmp_path: Path, disks: Any) -> None:
    fill(disks, 1, 2, 3)
    made = plan(tmp_path, disks, ([1, 2, 3], 2, 4, [2, 3]))
    (record,) = made.state.topics["orders"].replicas
    assert (record.replicas, record.isr, record.leader, record.leader_epoch) == ((1, 2, 3), (2, 3), 2, 5)
    assert not made.stops + made.lost + made.notes


def test_an_epoch_on_a_disk_above_zookeepers_stops_and_is_passed(tmp_path: Path, disks: Any) -> None:
    fill(disks, 1, 2)
    fill(disks, 3, epoch=9)
    made = plan(tmp_path, disks, ([1, 2, 3], 1, 4, [1, 2]))
    assert made.state.topics["orders"].replicas[0].leader_epoch == 10
    assert ["older than the disks" in line for line in made.stops] == [True]


def test_a_leader_that_is_none_becomes_one_of_the_isr(tmp_path: Path, disks: Any) -> None:
    fill(disks, 1, 2, 3)
    assert plan(tmp_path, disks, ([1, 2, 3], -1, 4, [3])).state.topics["orders"].replicas[0].leader == 3


def test_a_broker_without_the_folder_leaves_the_isr_with_a_line(tmp_path: Path, disks: Any) -> None:
    fill(disks, 2, 3)
    made = plan(tmp_path, disks, ([1, 2, 3], 1, 4, [1, 2]))
    (record,) = made.state.topics["orders"].replicas
    assert (record.isr, record.leader) == ((2,), 2)
    assert ["smaller ISR" in line for line in made.notes] == [True]


def test_an_isr_without_any_folder_stops_where_others_have_records(tmp_path: Path, disks: Any) -> None:
    fill(disks, 2)
    made = plan(tmp_path, disks, ([1, 2, 3], 1, 4, [1]))
    assert made.state.topics["orders"].replicas[0].isr == (1,)
    assert ["would begin empty" in line.replace("\n", " ") for line in made.stops] == [True]


def test_a_topic_that_nobody_has_written_to_is_as_it_was(tmp_path: Path, disks: Any) -> None:
    made = plan(tmp_path, disks, ([1, 2], 1, 0, [1, 2]))
    assert made.state.topics["orders"].replicas[0].isr == (1, 2)
    assert not made.stops


def test_a_partition_of_brokers_that_are_not_given_waits_for_them(tmp_path: Path, disks: Any) -> None:
    made = plan(tmp_path, {1: disks[1]}, ([2, 3], 2, 0, [2, 3]))
    (record,) = made.state.topics["orders"].replicas
    assert (record.isr, record.leader) == ((2, 3), -1)
    assert "no leader" in made.lost[0]
    assert "[2, 3] have replicas" in made.notes[0]


def test_folders_that_kafka_will_set_aside_are_named_with_their_reason(tmp_path: Path, disks: Any) -> None:
    fill(disks, 1, 2, 3)
    for name in ("gone", "unknown"):
        write_replica(disks[1][0], name, 0)
    write_replica(disks[1][0], "orders", 7)
    write_topic_id(Files(), str(disks[2][0] / "orders-0"), decode_uuid(CLUSTER_ID))
    nodes = {"/brokers/topics/gone": {"partitions": {"0": [1]}}, "/admin/delete_topics/gone": None}
    fields = {"version": 3, "topic_id": "AAAAAAAAAAAAAAAAAAAABA", "partitions": {"0": [1, 2]}}
    made = plan(tmp_path, disks, ([1, 2], 1, 4, [1]), nodes=nodes | {"/brokers/topics/orders": fields})
    reasons = sorted(line.rpartition(", ")[2] for line in made.notes if line.startswith("set aside"))
    assert reasons == [
        "it is of an earlier topic of that name",
        "its broker is no replica",
        "its topic has 1 partition",
        "its topic is being deleted",
        "its topic is not known",
    ]


def test_what_cannot_be_taken_is_said(tmp_path: Path, disks: Any) -> None:
    fill(disks, 1)
    nodes = {
        "/delegation_token/tokens/abc": {},
        "/config/brokers/1": {"config": {"ssl.key.password": "passwordLength:3,encryptedPassword:x", "a": "b"}},
        "/config/topics/orders": {"config": {"segment.bytes": "20000", "retention.ms": "long", "x.y": "z"}},
        "/admin/reassign_partitions": {"partitions": [{"topic": "orders", "partition": 0, "replicas": [5]}]},
        "/consumers/old/offsets": None,
        "/migration": {},
    }
    made = plan(tmp_path, disks, ([1], 1, 4, [1]), nodes=nodes)
    assert [word for word in ("delegation", "ssl.key.password", "reassignment", "old") if word in str(made.lost)] == [
        "delegation", "ssl.key.password", "reassignment", "old"
    ]  # fmt: skip
    assert made.state.configs_of_brokers == {1: {"a": "b"}}
    assert made.state.topics["orders"].configs == {"segment.bytes": "1048576", "x.y": "z"}
    assert len(made.changes) == 2
    assert "migration to KRaft" in made.stops[0]


def test_topics_whose_segments_are_elsewhere_stay_so(tmp_path: Path, disks: Any) -> None:
    """Fault: `remote.storage.enable` was left out, since stepdown has no such topics, and Kafka forgot the segments."""
    fill(disks, 1)
    tiered = {"remote.storage.enable": "true", "local.retention.ms": "1000"}
    made = plan(tmp_path, disks, ([1], 1, 4, [1]), nodes={"/config/topics/orders": {"config": tiered}})
    assert made.state.topics["orders"].configs == tiered
    assert not made.changes


def test_producer_ids_begin_far_above_zookeepers_and_the_disks(tmp_path: Path, disks: Any) -> None:
    write_replica(disks[1][0], "orders", 0)
    for end, expected in ((4999, 1_005_000), (0, 1_000_001)):
        block = {"/latest_producer_id_block": {"block_end": str(end)}}
        assert plan(tmp_path, disks, ([1], 1, 4, [1]), nodes=block).state.next_producer_id == expected


def test_a_cluster_of_0_10_0_gets_an_id(tmp_path: Path, disks: Any) -> None:
    """Fault: the id was empty. Before 0.10.1 neither ZooKeeper nor a broker has one."""
    write_replica(disks[1][0], "orders", 0)
    (disks[1][0] / "meta.properties").write_text("version=0\nbroker.id=1\n")
    cluster = cluster_of({"orders": [([1], 1, 4, [1])]})
    cluster.cluster_id = ""
    assert len(Migration(tmp_path, {1: disks[1]}, cluster).plan().cluster_id) == 22


def test_a_partition_in_two_directories_stops(tmp_path: Path, disks: Any) -> None:
    disks[1].append(write_directory(tmp_path / "more", 1))
    for path in disks[1]:
        write_replica(path, "orders", 0)
    assert "in two directories" in plan(tmp_path, disks, ([1], 1, 4, [1])).stops[0]


def test_directories_of_other_brokers_clusters_and_of_kraft_are_refused(tmp_path: Path, disks: Any) -> None:
    files = Files(read_only=True)
    with pytest.raises(RefusedDirectory, match="is of broker 2"):
        survey_broker(files, 1, [str(disks[2][0])])
    with pytest.raises(RefusedDirectory, match="no such directory"):
        survey_broker(files, 1, [str(tmp_path / "none")])
    write_directory(tmp_path / "other", 1, cluster_id="other")
    with pytest.raises(RefusedDirectory, match="of the clusters"):
        survey_broker(files, 1, [str(disks[1][0]), str(tmp_path / "other")])
    with pytest.raises(RefusedDirectory, match="that of cluster"):
        Migration(tmp_path, {1: [tmp_path / "other"]}, cluster_of({})).plan()
    (disks[3][0] / "__cluster_metadata-0").mkdir()
    with pytest.raises(RefusedDirectory, match="KRaft's already"):
        survey_broker(files, 3, [str(disks[3][0])])


def test_a_directory_that_a_broker_has_open_is_refused(disks: Any) -> None:
    lock = Files().lock(str(disks[1][0] / ".lock"))
    assert lock is not None
    with pytest.raises(RefusedDirectory, match="stop it first"), hold_locks(Files(), [str(disks[1][0])]):
        pass
    lock.release()
    with hold_locks(Files(), [str(disks[1][0])], only_existing=True):
        pass


INDEX_BYTES = 19 * 12
"""Of the time index of 200 records in batches of ten: an entry for each but the first."""


def index_settings(index_bytes: int) -> dict[str, Any]:
    return {"/config/topics/orders": {"config": {"segment.index.bytes": str(index_bytes)}}}


@pytest.mark.parametrize("set_to", [4, 100, INDEX_BYTES, 10_000])
def test_a_topic_has_room_for_the_indexes_on_the_disks(tmp_path: Path, disks: Any, set_to: int) -> None:
    """Fault: Kafka 4 did not start on a plan with a smaller `segment.index.bytes`."""
    write_replica(disks[1][0], "orders", 0, 200)
    made = plan(tmp_path, disks, ([1], 1, 4, [1]), nodes=index_settings(set_to))
    becomes = max(set_to, INDEX_BYTES)
    assert made.state.topics["orders"].configs == {"segment.index.bytes": str(becomes)}
    assert (f"becomes {becomes}, which its indexes" in str(made.changes)) == (set_to != becomes)


def test_preallocated_zeros_of_an_index_need_no_room(tmp_path: Path, disks: Any) -> None:
    folder = write_replica(disks[1][0], "orders", 0, 200)
    for suffix in ("index", "timeindex"):
        with (folder / f"{0:020d}.{suffix}").open("ab") as file:
            file.write(bytes(24 * 100))  # as Kafka has them while it runs
    made = plan(tmp_path, disks, ([1], 1, 4, [1]), nodes=index_settings(100))
    assert made.state.topics["orders"].configs == {"segment.index.bytes": str(INDEX_BYTES)}


@pytest.mark.parametrize("interval", [0, 1000, None])
def test_after_an_unclean_stop_there_is_room_for_what_a_recovery_makes(
    tmp_path: Path, disks: Any, interval: int | None
) -> None:
    """A start that failed has cut the indexes: how many entries are wanted is by the bytes of the largest segment."""
    folder = write_replica(disks[1][0], "orders", 0, 200)
    (folder / f"{0:020d}.timeindex").write_bytes(b"")
    (folder / f"{200:020d}.log").touch()
    (disks[1][0] / ".kafka_cleanshutdown").unlink()
    nodes = index_settings(12)
    if interval is not None:
        nodes["/config/topics/orders"]["config"]["index.interval.bytes"] = str(interval)
    made = plan(tmp_path, disks, ([1], 1, 4, [1]), nodes=nodes)
    size = (folder / f"{0:020d}.log").stat().st_size
    wanted = 12 * (size // {0: 26, None: 4096}.get(interval, 1000) + 2)
    assert int(made.state.topics["orders"].configs["segment.index.bytes"]) == wanted


def test_a_default_of_the_brokers_has_room_for_the_indexes_of_topics_without_their_own(
    tmp_path: Path, disks: Any
) -> None:
    write_replica(disks[1][0], "orders", 0, 200)
    nodes = {"/config/brokers/<default>": {"config": {"log.index.size.max.bytes": "100"}}}
    made = plan(tmp_path, disks, ([1], 1, 4, [1]), nodes=nodes)
    assert made.state.cluster_configs == {"log.index.size.max.bytes": str(INDEX_BYTES)}
