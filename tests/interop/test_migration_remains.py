"""`stepdown migrate` where the brokers stopped half way: folders of deleted topics and of earlier ones, delegation
tokens, reassignments under way."""

import json
import re
import shutil
import signal
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka.admin import AdminClient
from stepdown.bench.servers.ports import free_port
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import encode_uuid, write_topic_id
from stepdown.storage.migration.plan_document import read_plan
from stepdown.storage.zookeeper.kafka_cluster import read_cluster
from stepdown.storage.zookeeper.live_zookeeper import read_live_zookeeper
from support.clients_raw import wait_until
from support.command import run_command
from support.deadline import DEADLINE_S
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_old import OldKafka
from support.kafka_tools import KafkaTools
from support.migrated_records import consume
from support.migrating import Migration, cluster_of, set_hosts, write_directory, write_replica
from support.zookeeper_cluster import IDS, Acknowledged, NewCluster, OldCluster, check_records, produce_acknowledged
from support.zookeeper_directory import CONFIG_TOOL, TOPIC_TOOL

pytestmark = [pytest.mark.java, pytest.mark.slow]

UNIQUE = "0123456789abcdef" * 2
SOON = {
    "log.initial.task.delay.ms": "100",
    "log.segment.delete.delay.ms": "100",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
TOKENS = "DelegationTokenCommand"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
REASSIGN_TOOL = "kafka.admin.ReassignPartitionsCommand"


def segments(disk: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in disk.rglob("*.log")}


def test_undo_gives_folders_back_that_kafka_replaced_by_empty_ones(tmp_path: Path) -> None:
    """The folder of an earlier topic of the name; folders of deleted topics go, as with the old broker."""
    disk = write_directory(tmp_path / "data", 1)
    for index in (0, 1):
        write_replica(disk, "orders", index, epochs=[(3, 0)])
    write_replica(disk, "unknown", 0)
    write_topic_id(Files(), str(disk / "orders-1"), UUID(int=99))
    stray, deleted = (disk / f"unknown-0.{UNIQUE}-{kind}" for kind in ("stray", "delete"))
    shutil.copytree(disk / "unknown-0", stray)
    before = segments(disk)
    shutil.copytree(disk / "unknown-0", deleted)
    own = {"version": 3, "topic_id": encode_uuid(UUID(int=77)), "partitions": {"0": [1], "1": [1]}}
    topics = {"orders": [([1], 1, 3, [1])] * 2}
    migration = Migration(
        tmp_path, {1: [disk]}, cluster_of(topics, {"/brokers/topics/orders": json.dumps(own).encode()})
    )
    plan = migration.plan()
    assert len([line for line in plan.notes if "an earlier topic" in line]) == 1
    migration.apply()
    properties = {**SOON, "log.dirs": str(disk), "metadata.log.dir": str(disk)}
    with ApacheKafka4(tmp_path, release=LATEST, properties=properties) as kafka:
        assert [len(consume(kafka.address, "orders", index)) for index in (0, 1)] == [20, 0]
        wait_until(lambda: not deleted.exists(), "what was deleted goes")
        assert stray.exists()
    assert len(list(disk.glob("orders-1.*-stray"))) == 1
    assert (disk / "orders-1").is_dir()
    migration.undo()
    assert {path: data for path, data in segments(disk).items() if path in before} == before
    assert sorted(path.name for path in disk.iterdir() if path.is_dir() and not path.name.startswith("__")) == [
        "orders-0", "orders-1", "unknown-0", stray.name
    ]  # fmt: skip


def test_names_that_collide_and_an_id_that_was_given_are_taken(tmp_path: Path) -> None:
    """`a.b` and `a_b`, of which Kafka makes only one today, and an id above 1000, as brokers without one had them."""
    disk = write_directory(tmp_path / "data", 1001)
    topics = {name: [([1001], 1001, 3, [1001])] for name in ("a.b", "a_b")}
    for number, name in enumerate(topics):
        write_replica(disk, name, 0, 10 * (1 + number))
    migration = Migration(tmp_path, {1001: [disk]}, cluster_of(topics))
    assert not migration.plan().stops
    migration.apply()
    kafka = ApacheKafka4(tmp_path, release=LATEST)
    own = {"node.id": "1001", "controller.quorum.voters": f"1001@{kafka._controller}"}
    kafka._properties |= {**SOON, **own, "log.dirs": str(disk), "metadata.log.dir": str(disk)}
    with kafka:
        assert [len(consume(kafka.address, name, 0)) for name in topics] == [10, 20]


def test_delegation_tokens_are_lost_with_a_line(tmp_path: Path) -> None:
    old = OldKafka(tmp_path, "2.8.2", properties={"delegation.token.master.key": "key"})
    logins = f"127.0.0.1:{free_port()}"
    listeners = f"PLAINTEXT://{old.address},SASL_PLAINTEXT://{logins}"
    old._properties |= {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
    }
    login = tmp_path / "login.properties"
    login.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={SCRAM} username="alice" password="secret";\n'
    )
    with old:
        password = "SCRAM-SHA-256=[iterations=4096,password=secret]"
        old.run_tool(
            CONFIG_TOOL, "--alter", "--entity-type", "users", "--entity-name", "alice", "--add-config", password
        )
        words = ("--bootstrap-server", logins, "--command-config", str(login))
        old.run_main(f"kafka.admin.{TOKENS}", *words, "--create", "--max-life-time-period", "-1")
    plan = tmp_path / "plan.yaml"
    data, zookeeper = tmp_path / "data", tmp_path / "zookeeper"
    planned = run_command("migrate", "plan", "--broker", f"1={data}", "--zookeeper-data", zookeeper, "--out", plan)
    assert planned.exit_code == 0, planned.stderr
    (line,) = [line for line in planned.stdout.splitlines() if line.startswith("lost: ")]
    assert line.startswith("lost: 1 delegation tokens: ")
    assert run_command("migrate", "apply", plan).exit_code == 0
    kafka = ApacheKafka4(tmp_path, release=LATEST, properties={"metadata.log.dir": str(data)})
    listeners = f"PLAINTEXT://{kafka.address},SASL_PLAINTEXT://{logins}"
    kafka._properties |= {name: old._properties[name] for name in old._properties if "sasl" in name} | {
        "listeners": f"{listeners},CONTROLLER://{kafka._controller}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "delegation.token.secret.key": "key",
    }
    with kafka:
        tools = KafkaTools(LATEST, at=logins, login=str(login))
        words_now = "--bootstrap-server {at} --command-config {login} --describe"
        shown = tools.run(f"org.apache.kafka.tools.{TOKENS}", words_now)
        assert "User:alice" not in shown, "the password is right, and there is no token"


def asked_to_move(old: OldCluster, folder: Path) -> None:
    """Partition 0 of `moved` is to go from 1 and 2 to 2 and 3, and 3 does nothing."""
    wanted = {"version": 1, "partitions": [{"topic": "moved", "partition": 0, "replicas": [2, 3]}]}
    (file := folder / "wanted.json").write_text(json.dumps(wanted))
    process = old.brokers[3]._process
    assert process is not None
    process.popen.send_signal(signal.SIGSTOP)
    first = old.brokers[1]
    if first.version >= "2":
        words = ("--bootstrap-server", f"{first.address}")
        first.run_main(REASSIGN_TOOL, *words, "--reassignment-json-file", str(file), "--execute")
    else:
        first.run_tool(REASSIGN_TOOL, "--reassignment-json-file", str(file), "--execute")
    wait_until(lambda: is_under_way(first.zookeeper), "the reassignment begins")
    old.brokers[3].kill_only_broker()


def is_under_way(zookeeper: str) -> bool:
    (record,) = read_cluster(read_live_zookeeper(zookeeper)).topics["moved"].partitions
    return record.adding == (3,)


@pytest.mark.parametrize("version", ["1.1.1", "2.8.2"])
def test_a_reassignment_under_way_goes_on(tmp_path: Path, version: str) -> None:
    pytest.importorskip("kazoo")
    taken: Acknowledged = {}
    old = OldCluster(tmp_path, version)
    for broker in old.brokers.values():
        broker._properties["zookeeper.session.timeout.ms"] = "60000"
    with old:
        old.brokers[1].run_tool(TOPIC_TOOL, "--create", "--topic", "moved", "--replica-assignment", "1:2")
        produce_acknowledged(old.addresses, {"moved": 1}, range(100), taken)
        asked_to_move(old, tmp_path)
        for each in (2, 1):
            old.brokers[each].stop_only_broker()
    plan = tmp_path / "plan.yaml"
    brokers = [word for each in IDS for word in ("--broker", f"{each}={tmp_path / str(each) / 'data'}")]
    files = ("--zookeeper-data", tmp_path / "1" / "zookeeper")
    planned = run_command("migrate", "plan", *brokers, *files, "--out", plan)
    assert planned.exit_code == 0, planned.stderr
    (record,) = read_plan(Files(), str(plan)).state.topics["moved"].replicas
    # Of 1.1.1 it is not known whether 2, which is in sync no more, was a replica before.
    assert record.adding == ((3,) if version >= "2" else (2, 3))
    assert record.removing == (1,)
    assert not re.search("^(lost|STOP)", planned.stdout, re.MULTILINE), planned.stdout
    set_hosts(plan)
    assert run_command("migrate", "apply", plan).exit_code == 0
    with NewCluster(tmp_path) as new:
        admin = AdminClient({"bootstrap.servers": new.addresses})

        def replicas() -> list[list[int]]:
            partition = admin.list_topics("moved", timeout=DEADLINE_S).topics["moved"].partitions[0]
            return [sorted(partition.replicas), sorted(partition.isrs)]

        wait_until(lambda: replicas() == [[2, 3], [2, 3]], "the reassignment ends")
        check_records(new.addresses, taken)
