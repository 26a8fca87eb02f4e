"""`stepdown migrate` with three brokers, one of which was killed under load and stayed behind: no acknowledged record
is lost, with ZooKeeper alive, with its files, and without it."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from stepdown.storage.files.files import Files
from stepdown.storage.migration.plan_document import read_plan
from support.clients_raw import wait_until
from support.command import run_command
from support.deadline import DEADLINE_S
from support.zookeeper_cluster import IDS, Acknowledged, NewCluster, OldCluster, check_records, produce_acknowledged
from support.zookeeper_directory import TOPIC_TOOL

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPICS = {f"topic-{number}": 2 for number in range(6)}
FORMATS = ("0.10.2", "0.9.0", "")
"""Of records: magic 1, 0, and the version's own."""


def make_topics(old: OldCluster) -> None:
    first = old.brokers[1]
    for number, name in enumerate(TOPICS):
        magic = FORMATS[number % len(FORMATS)]
        settings = ("--config", f"message.format.version={magic}") if magic else ()
        layout = ("--partitions", "2", "--replication-factor", "3")
        first.run_tool(TOPIC_TOOL, "--create", "--topic", name, *layout, *settings)


def load_and_stop(old: OldCluster, topics: Mapping[str, int], taken: Acknowledged) -> None:
    """Broker 3 is killed after a third; then 2 is stopped, and what follows has broker 1 alone; then 1."""
    produce_acknowledged(old.addresses, topics, range(200), taken)
    old.brokers[3].kill_only_broker()
    produce_acknowledged(old.addresses, topics, range(200, 500), taken)
    old.brokers[2].stop_only_broker()
    produce_acknowledged(old.addresses, topics, range(500, 600), taken)
    old.brokers[1].stop_only_broker()


def plan_and_apply(folder: Path, source: tuple[object, ...]) -> Path:
    plan = folder / "plan.yaml"
    brokers = [word for each in IDS for word in ("--broker", f"{each}={folder / str(each) / 'data'}")]
    planned = run_command("migrate", "plan", *brokers, "--out", plan, *source)
    assert planned.exit_code == 0, planned.stderr
    applied = run_command("migrate", "apply", plan)
    assert applied.exit_code == 0, planned.stdout + applied.stderr
    return plan


def isr_sizes(admin: AdminClient, topics: Mapping[str, int]) -> set[int]:
    found = admin.list_topics(timeout=DEADLINE_S).topics
    return {len(each.isrs) for name in topics for each in found[name].partitions.values()}


def replicas_on_disk(folder: Path, name: str, index: int) -> list[bytes]:
    return [
        b"".join(path.read_bytes() for path in sorted((folder / str(each) / "data" / f"{name}-{index}").glob("*.log")))
        for each in IDS
    ]


@pytest.mark.parametrize("source", ["files", "live", "none"])
@pytest.mark.parametrize("version", ["1.1.1", "2.8.2"])
def test_no_acknowledged_record_is_lost(tmp_path: Path, version: str, source: str) -> None:
    topics = TOPICS
    taken: Acknowledged = {}
    with OldCluster(tmp_path, version) as old:
        make_topics(old)
        load_and_stop(old, topics, taken)
        words = {
            "files": ("--zookeeper-data", tmp_path / "1" / "zookeeper"),
            "live": ("--zookeeper", old.brokers[1].zookeeper),
            "none": ("--without-zookeeper",),
        }[source]
        plan = plan_and_apply(tmp_path, words)
    assert len(taken) == 600 * sum(topics.values())
    state = read_plan(Files(), str(plan)).state
    assert {each.isr for name in topics for each in state.topics[name].replicas} == {(1,)}
    with NewCluster(tmp_path) as new:
        check_records(new.addresses, taken)
        admin = AdminClient({"bootstrap.servers": new.addresses})
        wait_until(lambda: isr_sizes(admin, topics) == {3}, "the late replicas catch up")
        new.nodes[1].kill()
        produce_acknowledged(new.addresses, topics, range(600, 620), taken)
        check_records(new.addresses, taken)
        new.nodes[1].start()
        wait_until(lambda: isr_sizes(admin, topics) == {3}, "the killed node catches up")
    for name, partitions in topics.items():
        for index in range(partitions):
            one, two, three = replicas_on_disk(tmp_path, name, index)
            assert one == two == three, (name, index)
