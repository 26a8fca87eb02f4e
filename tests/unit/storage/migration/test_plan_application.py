"""Applying a plan and taking it back: the same for all brokers, again and again, and after a stop at every write."""

import json
import os
import shutil
from pathlib import Path

import pytest
from stepdown.protocol.errors import DiskFault
from stepdown.storage.directories.meta_properties import read_meta_properties
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import read_topic_id
from stepdown.storage.metadata.metadata_log_contents import read_metadata_log
from stepdown.storage.metadata.metadata_store import MetadataStore
from stepdown.storage.migration.directory_survey import JOURNAL, RefusedDirectory
from stepdown.storage.migration.plan_document import MalformedPlan
from support.files import Crash, FaultyFiles
from support.migrating import CLUSTER_ID, Migration, cluster_of, contents, write_directory, write_replica

SCRAM = "salt=a2V5,stored_key=a2V5,server_key=a2V5,iterations=4096"
RULE = {"principal": "User:a", "permissionType": "Allow", "operation": "Read", "host": "*"}
NODES = {
    "/config/topics/orders": {"config": {"retention.ms": "1000"}},
    "/config/users/alice": {"config": {"SCRAM-SHA-256": SCRAM, "producer_byte_rate": "1e16"}},
    "/kafka-acl/Topic/orders": {"acls": [RULE]},
    "/latest_producer_id_block": {"block_end": "1999"},
}


@pytest.fixture
def migration(tmp_path: Path) -> Migration:
    """Two brokers, the first with two directories; folders of all kinds."""
    folder = tmp_path / "cluster"
    disks = [write_directory(folder / name, 1, locked=name == "1a") for name in ("1a", "1b")]
    brokers = {1: disks, 2: [write_directory(folder / "2", 2)]}
    write_replica(disks[0], "orders", 0, epochs=[(3, 0)])
    write_replica(disks[1], "orders", 1, epochs=[(3, 0)])
    write_replica(brokers[2][0], "orders", 0, epochs=[(3, 0)])
    write_replica(disks[0], "unknown", 0)
    unique = "0123456789abcdef" * 2
    for kind in ("delete", "future"):
        shutil.copytree(disks[1] / "orders-1", disks[0] / f"orders-1.{unique}-{kind}")
    nodes = {path: json.dumps(value).encode() for path, value in NODES.items()}
    topics = {"orders": [([1, 2], 1, 3, [1, 2]), ([1], 1, 3, [1])]}
    return Migration(folder, brokers, cluster_of(topics, nodes))


def test_every_broker_gets_the_same_snapshot_and_the_metadata_are_those_of_zookeeper(migration: Migration) -> None:
    plan = migration.plan()
    before = migration.contents()
    migration.apply()
    snapshots = list(migration.folder.rglob("*.checkpoint"))
    assert sorted(each.relative_to(migration.folder).parts[0] for each in snapshots) == ["1a", "2"]
    assert len({each.read_bytes() for each in snapshots}) == 1
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in [*snapshots, migration.path])
    state = MetadataStore.read(Files(read_only=True), [str(path) for path in migration.brokers[1]]).state
    assert state.topics == plan.state_with_directories().topics
    assert state.topics["orders"].configs == {"retention.ms": "1000"}
    assert state.scram_credentials.keys() == {("alice", "SCRAM-SHA-256")}
    assert state.client_quotas == {(("user", "alice"),): {"producer_byte_rate": 1e16}}
    assert len(state.acls) == 1
    assert (state.next_producer_id, state.metadata_version) == (1_002_000, 21)
    ids = [each.directory_id for broker in plan.brokers.values() for each in broker.directories]
    assert state.topics["orders"].replicas[0].directories == (ids[0], ids[2])
    assert state.topics["orders"].replicas[1].directories == (ids[1],)
    after = migration.contents()
    changed = {Path(path).name for path in before if after[path] != before[path]}
    assert changed == {"meta.properties"}, "no file of a segment, and no time"


def test_with_kraft_version_1_the_metadata_name_the_voters(migration: Migration) -> None:
    plan = migration.plan()
    migration.edit("kraft_version: 0", "kraft_version: 1")
    migration.apply()
    contents = read_metadata_log(Files(read_only=True), f"{migration.brokers[2][0]}/__cluster_metadata-0")
    assert contents.kraft_version == 1
    (voter,) = contents.voters or ()
    first = plan.brokers[1].directories[0]
    assert (voter.voter_id, voter.voter_directory_id) == (1, first.directory_id)
    (endpoint,) = voter.endpoints
    assert (endpoint.name, endpoint.host, endpoint.port) == ("CONTROLLER", "host-1", 9093)


def test_each_directory_and_folder_says_whose_it_is(migration: Migration) -> None:
    plan = migration.plan()
    migration.apply()
    for broker_id, paths in migration.brokers.items():
        for path in paths:
            meta = read_meta_properties(Files(), str(path))
            assert meta is not None
            assert (meta.version, meta.node_id, meta.cluster_id) == (1, broker_id, CLUSTER_ID)
            for folder in filter(Path.is_dir, path.glob("*-[0-9]*")):
                has_id = "orders" in folder.name and "-delete" not in folder.name
                expected = plan.topic_id("orders") if has_id else None
                assert read_topic_id(Files(), str(folder)) == expected, folder


def test_applying_again_changes_nothing_and_undo_restores_every_byte(migration: Migration) -> None:
    before = migration.contents()
    migration.plan()
    migration.apply()
    applied = bytes_of(migration.contents())
    migration.apply()
    assert bytes_of(migration.contents()) == applied
    migration.undo()
    assert bytes_of(migration.contents()) == bytes_of(before)
    migration.undo()
    assert "no plan was applied" in migration.said[-1]
    migration.plan()
    migration.apply()


def test_the_disk_is_waited_for_as_often_with_many_partitions(tmp_path: Path) -> None:
    """It was waited for twice a partition: 82 s for 10,000."""
    waits = []
    for partitions in (1, 30):
        disk = write_directory(tmp_path / f"{partitions}" / "1", 1)
        for index in range(partitions):
            write_replica(disk, "orders", index, epochs=[(3, 0)])
        topics = {"orders": [([1], 1, 3, [1])] * partitions}
        migration, files = Migration(disk.parent, {1: [disk]}, cluster_of(topics)), FaultyFiles()
        migration.plan()
        migration.apply(files)
        waits.append(files.syncs)
    assert waits[0] == waits[1]


def bytes_of(found: dict[str, tuple[bytes, int]]) -> dict[str, bytes]:
    """Without lock files: a process that is killed leaves an empty one."""
    return {path: data for path, (data, _) in found.items() if not path.endswith("/.lock")}


def stops_at_each_change(work: str, migration: Migration, tmp_path: Path) -> int:
    """After a stop at each change of the disk, `work` can be done again, and undone; how many there were."""
    for number in range(1000):
        tried = migration.copy(tmp_path / f"{work}-{number}")
        before = bytes_of(tried.contents())
        tried.plan()
        if work == "undo":
            tried.apply()
        applied = bytes_of(tried.contents())
        files = FaultyFiles(seed=number)
        files.crash_in = number
        try:
            getattr(tried, work)(files)
        except Crash:
            files.lose_power()
            if work == "apply" and number % 2:
                tried.apply()
                applied = bytes_of(tried.contents())
                tried.apply()
                assert bytes_of(tried.contents()) == applied
            tried.undo()
            assert bytes_of(tried.contents()) == before, number
            shutil.rmtree(tried.folder)
        else:
            return number
    raise AssertionError("it does not end")


@pytest.mark.lengthy
@pytest.mark.parametrize("work", ["apply", "undo"])
def test_a_stop_at_any_write_is_mended_by_the_next_try(work: str, migration: Migration, tmp_path: Path) -> None:
    assert stops_at_each_change(work, migration, tmp_path) > 10


def test_kafka_never_finds_a_directory_half_done(migration: Migration, tmp_path: Path) -> None:
    """Where one `meta.properties` is KRaft's, everything else is written."""
    for number in range(0, 1000, 3):
        tried = migration.copy(tmp_path / f"half-{number}")
        tried.plan()
        files = FaultyFiles(seed=number)
        files.crash_in = number
        try:
            tried.apply(files)
            return
        except Crash:
            paths = [path for paths in tried.brokers.values() for path in paths]
            if any("version=1" in (path / "meta.properties").read_text() for path in paths):
                assert len(list(tried.folder.rglob("*.checkpoint"))) == 2
                assert len(list(tried.folder.rglob("partition.metadata"))) == 4


def test_a_full_disk_leaves_what_a_second_apply_mends(migration: Migration) -> None:
    before = migration.contents()
    migration.plan()
    for space in (0, 100, 1000, 1500, 2000):
        files = FaultyFiles()
        files.space_left = space
        with pytest.raises(DiskFault, match="No space"):
            migration.apply(files)
    migration.apply()
    migration.undo()
    assert bytes_of(migration.contents()) == bytes_of(before)


def test_undo_needs_no_space_after_apply_filled_the_disk(migration: Migration) -> None:
    before = migration.contents()
    migration.plan()
    for space in (1000, 2000):
        full = FaultyFiles()
        full.space_left = space
        with pytest.raises(DiskFault, match="No space"):
            migration.apply(full)
        migration.undo(full)
        assert bytes_of(migration.contents()) == bytes_of(before)


def test_undo_goes_on_without_a_disk_that_is_gone(migration: Migration, tmp_path: Path) -> None:
    before = migration.contents()
    migration.plan()
    migration.apply()
    gone = migration.brokers[1][1]
    gone.rename(tmp_path / "gone")
    with pytest.raises(RefusedDirectory, match="is not there"):
        migration.apply()
    migration.undo()
    assert f"{gone}: it is not there" in str(migration.said)
    (tmp_path / "gone").rename(gone)
    migration.undo()
    assert bytes_of(migration.contents()) == bytes_of(before)


def test_directories_of_another_user_are_refused(migration: Migration, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault: what root had written for its eyes only, the broker's user could not read."""
    migration.plan()
    before = migration.contents()
    owner = migration.folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    for work in (migration.apply, migration.undo):
        with pytest.raises(RefusedDirectory, match="is of another user"):
            work()
    assert migration.contents() == before


@pytest.mark.parametrize("change", ["touched", "longer", "new", "gone", "renamed"])
def test_a_directory_that_has_changed_since_is_refused(migration: Migration, change: str) -> None:
    migration.plan()
    folder = migration.brokers[2][0] / "orders-0"
    segment = next(folder.glob("*.log"))
    match change:
        case "touched":
            os.utime(segment, (1, 1))
        case "longer":
            segment.write_bytes(segment.read_bytes() + b"x")
        case "new":
            (migration.brokers[1][1] / "orders-9").mkdir()
        case "gone":
            segment.unlink()
        case _:
            folder.rename(folder.with_name("orders-5"))
    before = migration.contents()
    with pytest.raises(RefusedDirectory, match="has changed since the plan"):
        migration.apply()
    assert migration.contents() == before


def test_a_plan_that_was_edited_after_it_was_applied_is_refused(migration: Migration) -> None:
    migration.plan()
    migration.apply()
    migration.path.write_text(migration.path.read_text() + "\n")
    with pytest.raises(RefusedDirectory, match="undo that first"):
        migration.apply()
    migration.undo()
    migration.apply()


def test_stops_and_held_locks_keep_a_plan_from_being_applied(migration: Migration) -> None:
    migration.plan()
    text = migration.path.read_text()
    migration.path.write_text(text.replace("stops: []", "stops: [look here]"))
    before = migration.contents()
    with pytest.raises(RefusedDirectory, match="look here"):
        migration.apply()
    migration.path.write_text(text)
    lock = Files().lock(str(migration.brokers[2][0] / ".lock"))
    assert lock is not None
    with pytest.raises(RefusedDirectory, match="stop it first"):
        migration.apply()
    lock.release()
    assert migration.contents() == before


def test_swapped_directories_are_refused(migration: Migration) -> None:
    migration.plan()
    one, two = migration.brokers[1][0], migration.brokers[2][0]
    one.rename(one.with_name("x"))
    two.rename(one)
    with pytest.raises(RefusedDirectory, match="should be of broker 1"):
        migration.apply()


def test_brokers_on_different_machines_have_the_same_snapshot(migration: Migration, tmp_path: Path) -> None:
    """The directories of the other broker are not there, or their paths are this broker's."""
    migration.plan()
    found = []
    for own, others in ((1, 2), (2, 1)):
        for paths in migration.brokers[others]:
            paths.rename(tmp_path / paths.name)
        migration.apply()
        found += [each.read_bytes() for path in migration.brokers[own] for each in path.rglob("*.checkpoint")]
        for paths in migration.brokers[others]:
            (tmp_path / paths.name).rename(paths)
    assert len(found) == 2
    assert found[0] == found[1]


def test_what_kafka_set_aside_gets_its_name_back(migration: Migration) -> None:
    before = migration.contents()
    migration.plan()
    migration.apply()
    path = migration.brokers[1][0]
    unique = "fedcba9876543210" * 2
    (path / "orders-0").rename(path / f"orders-0.{unique}-stray")
    (path / "unknown-0").rename(path / f"unknown-0.{unique}-stray")
    (path / "orders-0").mkdir()
    (path / "orders-0" / f"{0:020d}.log").touch()
    (path / "made-later-0").mkdir()
    (path / "bootstrap.checkpoint").touch()
    migration.undo()
    assert "made-later-0" in str(migration.said)
    shutil.rmtree(path / "made-later-0")
    assert bytes_of(migration.contents()) == bytes_of(before)


def test_leader_epochs_that_kafka_began_are_forgotten(migration: Migration) -> None:
    """Fault: followers asked the old leader for them, and did not come back into the ISR."""
    epoch = migration.plan().state.topics["orders"].replicas[0].leader_epoch
    migration.apply()
    checkpoints = [paths[0] / "orders-0" / "leader-epoch-checkpoint" for paths in migration.brokers.values()]
    before = checkpoints[0].read_text()
    for path in checkpoints:
        path.write_text(f"0\n3\n3 0\n{epoch} 20\n{epoch + 2} 25\n")
    migration.undo()
    assert [path.read_text() for path in checkpoints] == [before, before] == ["0\n1\n3 0\n"] * 2


def test_records_that_kafka_wrote_in_the_place_of_a_folder_are_not_deleted(migration: Migration) -> None:
    migration.plan()
    migration.apply()
    path = migration.brokers[1][0]
    (path / "orders-0").rename(path / f"orders-0.{'0' * 32}-stray")
    write_replica(path, "orders", 0, 10)
    before = contents([path])
    with pytest.raises(RefusedDirectory, match="orders-0"):
        migration.undo()
    assert contents([path]) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"isr": [1, 2]', '"isr": [1, 2, 3]'),
        ('"leader": 1', '"leader": 2'),
        ('"leader": 1', '"leader": one'),
        ("version: 1", "version: 2"),
        ("voters: [1]", "voters: [7]"),
        ('to: "4.4"', 'to: "9"'),
        ("topics:", "subjects:"),
        ('"READ"', '"REED"'),
        ("made_ms: ", "made_ms: x"),
        ("stops: []", "stops: {}"),
        ("acls:", "acls: ["),
        ("set_aside: []", 'set_aside: ["../elsewhere-0"]'),
        ("topics:", 'topics: {"..": {}}\nothers:'),
    ],
)
def test_a_plan_that_cannot_be_understood_is_refused_with_its_name(migration: Migration, old: str, new: str) -> None:
    migration.plan()
    text = migration.path.read_text()
    assert old in text
    migration.path.write_text(text.replace(old, new))
    with pytest.raises(MalformedPlan, match=r"plan\.yaml"):
        migration.read()


@pytest.mark.parametrize("name", ["../elsewhere-0", "/elsewhere-0", ".."])
def test_a_journal_that_names_what_is_elsewhere_is_refused(migration: Migration, name: str) -> None:
    """Undoing a plan removes and renames what its journal names."""
    migration.plan()
    migration.apply()
    path = next(iter(migration.brokers.values()))[0] / JOURNAL
    for changed in ({"topic_ids": [name]}, {"set_aside": {name: "a-0"}}, {"set_aside": {"a-0": name}}):
        path.write_text(json.dumps(json.loads(path.read_text()) | changed))
        with pytest.raises(DiskFault, match="names nothing within"):
            migration.undo()
