"""`stepdown migrate`: what it prints, what it refuses, and brokers on several machines."""

from pathlib import Path

import pytest
from support.command import run_command
from support.migrating import CLUSTER_ID, set_hosts, write_directory, write_replica
from support.zookeeper_files import create, kafka_nodes, leave, log, with_parents


@pytest.fixture
def zookeeper(tmp_path: Path) -> Path:
    nodes = kafka_nodes({"orders": [([1, 2], 1, 4, [1, 2])], "__consumer_offsets": [([2], 2, 0, [2])] * 3}, CLUSTER_ID)
    return leave(tmp_path / "zookeeper", {"log.1": log(1, [create(*each) for each in with_parents(nodes).items()])})


@pytest.fixture
def disks(tmp_path: Path) -> dict[int, Path]:
    """The directories of two brokers; the replica of the second has seen a higher epoch."""
    found = {each: write_directory(tmp_path / f"broker-{each}" / "data", each) for each in (1, 2)}
    for broker_id, path in found.items():
        write_replica(path, "orders", 0, epochs=[(broker_id, 0)])
    write_replica(found[2], "__consumer_offsets", 0)
    return found


def test_a_plan_is_made_applied_and_undone(tmp_path: Path, zookeeper: Path, disks: dict[int, Path]) -> None:
    out = tmp_path / "plan.yaml"
    brokers = [word for each, path in disks.items() for word in ("--broker", f"{each}={path}")]
    planned = run_command("migrate", "plan", *brokers, "--zookeeper-data", zookeeper, "--out", out)
    assert planned.exit_code == 0, planned.stderr
    assert "2 topics, 4 partitions" in planned.stdout
    before = {path: path.read_bytes() for path in tmp_path.glob("broker-*/**/*") if path.is_file()}
    refused = run_command("migrate", "apply", out)
    assert (refused.exit_code, "localhost:9092 is the address of 2 listeners" in refused.stderr) == (1, True)
    set_hosts(out)
    applied = run_command("migrate", "apply", out)
    assert applied.exit_code == 0, applied.stderr
    lines = applied.stdout.splitlines()
    assert lines.count("offsets.topic.num.partitions=3") == 2
    assert [line for line in lines if line.startswith("process.roles")] == [
        "process.roles=broker,controller",
        "process.roles=broker",
    ]
    assert lines.count("controller.quorum.voters=1@host-1:9093") == 2
    undone = run_command("migrate", "undo", out)
    assert undone.exit_code == 0, undone.stderr
    assert {path: path.read_bytes() for path in before} == before
    out.write_text(out.read_text().replace("kraft_version: 0", "kraft_version: 1"))
    lines = run_command("migrate", "apply", out).stdout.splitlines()
    assert lines.count("controller.quorum.bootstrap.servers=host-1:9093") == 2
    assert not any(line.startswith("controller.quorum.voters") for line in lines)


def test_machines_add_their_brokers_to_one_plan(tmp_path: Path, zookeeper: Path, disks: dict[int, Path]) -> None:
    out = tmp_path / "plan.yaml"
    for broker_id, path in disks.items():
        words = ("--broker", f"{broker_id}={path}", "--zookeeper-data", zookeeper, "--out", out)
        done = run_command("migrate", "plan", *words)
        assert done.exit_code == 0, done.stderr
        path.parent.rename(path.parent.with_name(f"elsewhere-{broker_id}"))
    assert "2 brokers" in done.stdout
    assert '"leader_epoch": 5' in out.read_text()
    set_hosts(out)
    snapshots = []
    for broker_id, path in disks.items():
        path.parent.with_name(f"elsewhere-{broker_id}").rename(path.parent)
        done = run_command("migrate", "apply", out)
        assert done.exit_code == 0, done.stderr
        assert f"broker {broker_id}: ready" in done.stderr
        snapshots += [each.read_bytes() for each in path.rglob("*.checkpoint")]
        path.parent.rename(path.parent.with_name(f"elsewhere-{broker_id}"))
    assert len(set(snapshots)) == 1
    assert len(snapshots) == 2


def test_a_plan_of_another_cluster_gets_no_brokers(tmp_path: Path, disks: dict[int, Path]) -> None:
    other = write_directory(tmp_path / "other", 3, cluster_id="AAAAAAAAAAAAAAAAAAAABA")
    write_replica(other, "orders", 0)
    words = ("--without-zookeeper", "--out", tmp_path / "plan.yaml")
    assert run_command("migrate", "plan", "--broker", f"1={disks[1]}", *words).exit_code == 0
    done = run_command("migrate", "plan", "--broker", f"3={other}", *words)
    assert (done.exit_code, "several clusters" in done.stderr) == (1, True)


def test_a_plan_that_is_made_again_keeps_hosts_and_ports(tmp_path: Path, disks: dict[int, Path]) -> None:
    out = tmp_path / "plan.yaml"
    words = ("migrate", "plan", "--broker", f"1={disks[1]}", "--without-zookeeper", "--out", out)
    run_command(*words)
    set_hosts(out)
    run_command(*words)
    assert out.read_text().count('host: "host-1"') == 1


def test_a_directory_that_is_named_twice_or_has_the_plan_is_refused(tmp_path: Path, disks: dict[int, Path]) -> None:
    (tmp_path / "link").symlink_to(disks[1])
    for paths, out, text in (
        (f"{disks[1]},{tmp_path / 'link'}", tmp_path / "plan.yaml", "is named twice"),
        (f"{tmp_path / 'link'}", disks[1] / "plan.yaml", "is within the log directory"),
    ):
        done = run_command("migrate", "plan", "--broker", f"1={paths}", "--without-zookeeper", "--out", out)
        assert (done.exit_code, text in done.stderr, out.exists()) == (2, True, False)


def test_a_linked_log_directory_goes_there_and_back(tmp_path: Path, disks: dict[int, Path]) -> None:
    link, out = tmp_path / "link", tmp_path / "plan.yaml"
    link.symlink_to(disks[1])
    before = {path: path.read_bytes() for path in disks[1].rglob("*") if path.is_file()}
    words = ("--broker", f"1={link}", "--without-zookeeper", "--out", out)
    for command in (("plan", *words), ("apply", out)):
        done = run_command("migrate", *command)
        assert done.exit_code == 0, done.stderr
    assert f"log.dirs={link}" in done.stdout.splitlines()
    assert run_command("migrate", "undo", out).exit_code == 0
    assert {path: path.read_bytes() for path in disks[1].rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--broker", "1=/nowhere"], "it is not said where the metadata are"),
        (["--broker", "1=/nowhere", "--without-zookeeper", "--zookeeper", "localhost:1"], "it is not said"),
        (["--broker", "1=/nowhere", "--without-zookeeper", "--to", "5.0"], "--to"),
        (["--broker", "one=/nowhere", "--without-zookeeper"], "ID=DIR,DIR expected"),
        (["--broker", "1=/a,/a", "--without-zookeeper"], "named twice"),
    ],
)
def test_options_that_say_nothing_or_too_much_are_refused(tmp_path: Path, words: list[str], text: str) -> None:
    done = run_command("migrate", "plan", *words, "--out", tmp_path / "plan.yaml")
    assert done.exit_code == 2
    assert text in done.stderr


def test_a_missing_disk_or_zookeeper_is_said_and_no_plan_is_written(tmp_path: Path, disks: dict[int, Path]) -> None:
    out = tmp_path / "plan.yaml"
    for words in (["--broker", "1=/nowhere", "--without-zookeeper"],
                  ["--broker", f"1={disks[1]}", "--zookeeper-data", tmp_path / "none"]):  # fmt: skip
        done = run_command("migrate", "plan", *words, "--out", out)
        assert done.exit_code == 1
        assert "Nothing was changed" in done.stderr
        assert not out.exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("meta.properties", "version should be a number"),
        ("orders-0/partition.metadata", "`version: 0` expected"),
        ("stepdown-migration.json", "undo that plan first"),
    ],
)
def test_an_empty_file_is_said_with_its_path(tmp_path: Path, disks: dict[int, Path], name: str, text: str) -> None:
    (disks[1] / name).write_bytes(b"")
    out = tmp_path / "plan.yaml"
    done = run_command("migrate", "plan", "--broker", f"1={disks[1]}", "--without-zookeeper", "--out", out)
    assert (done.exit_code, out.exists()) == (1, False)
    assert text in done.stderr.replace("\n", " ")
    assert str(disks[1]) in done.stderr.replace("\n", "")


def test_a_plan_that_is_not_there_is_said(tmp_path: Path) -> None:
    for command in ("apply", "undo"):
        done = run_command("migrate", command, tmp_path / "none.yaml")
        assert (done.exit_code, "no such file" in done.stderr) == (1, True)
