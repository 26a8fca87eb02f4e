"""`stepdown migrate` with three brokers, one of which was killed under load and stayed behind: no acknowledged record
is lost, with ZooKeeper alive, with its files, with files that lack the newest snapshot, and without it."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from stepdown.storage.files.files import Files
from stepdown.storage.migration.plan_document import read_plan
from stepdown.storage.zookeeper.kafka_cluster import read_cluster
from stepdown.storage.zookeeper.live_zookeeper import read_live_zookeeper
from support.clients_raw import wait_until
from support.command import run_command
from support.deadline import DEADLINE_S
from support.migrated_records import consume
from support.migrating import set_hosts
from support.zookeeper_cluster import IDS, Acknowledged, NewCluster, OldCluster, check_records, produce_acknowledged
from support.zookeeper_directory import TOPIC_TOOL

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPICS = {f"topic-{number:02}": 2 if number < 6 else 1 for number in range(50)}
TRANSACTIONS = "transactions"
FORMATS = ("0.10.2", "0.9.0", "")
"""Of records: magic 1, 0, and the version's own."""
ROUNDS = 60
GROUP, COMMITTED = "billing", 7


def make_topics(old: OldCluster) -> None:
    """Some by the tool, in each format; the others come into being when records are sent to them."""
    layout = ("--partitions", "2", "--replication-factor", "3")
    for number, name in enumerate(name for name, partitions in TOPICS.items() if partitions > 1):
        magic = FORMATS[number % len(FORMATS)]
        settings = ("--config", f"message.format.version={magic}") if magic else ()
        old.brokers[1].run_tool(TOPIC_TOOL, "--create", "--topic", name, *layout, *settings)
    produce_transactions(old.addresses)


def produce_transactions(addresses: str) -> None:
    """One is committed, one aborted, one committed."""
    producer = Producer({"bootstrap.servers": addresses, "transactional.id": "transfer"})
    producer.init_transactions(DEADLINE_S)
    for number, end in enumerate(
        (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    ):
        producer.begin_transaction()
        for _ in range(10):
            producer.produce(TRANSACTIONS, b"%d" % number, partition=0)
        producer.flush(DEADLINE_S)
        end(DEADLINE_S)


def commit(addresses: str) -> None:
    consumer = Consumer({"bootstrap.servers": addresses, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition(name, 0, COMMITTED) for name in TOPICS], asynchronous=False)
    consumer.close()


def load_and_stop(old: OldCluster, taken: Acknowledged, topics: Mapping[str, int] = TOPICS) -> None:
    """Broker 3 is killed after a third; then 2 is stopped, and what follows has broker 1 alone; then 1."""
    produce_acknowledged(old.addresses, topics, range(5), taken)
    commit(old.addresses)
    events = {ROUNDS // 3: old.brokers[3].kill_only_broker, ROUNDS * 2 // 3: old.brokers[2].stop_only_broker}
    produce_acknowledged(old.addresses, topics, range(5, ROUNDS), taken, events)
    old.brokers[1].stop_only_broker()


def migrate(folder: Path, *source: object) -> Path:
    """The plan, after it was applied."""
    plan = folder / "plan.yaml"
    brokers = [word for each in IDS for word in ("--broker", f"{each}={folder / str(each) / 'data'}")]
    planned = run_command("migrate", "plan", *brokers, "--out", plan, *source)
    assert planned.exit_code == 0, planned.stderr
    set_hosts(plan)
    applied = run_command("migrate", "apply", plan)
    assert applied.exit_code == 0, planned.stdout + applied.stderr
    return plan


def without_newest_snapshot(data: Path) -> Path:
    snapshots = sorted(data.rglob("snapshot.*"), key=lambda path: int(path.suffix[1:], 16))
    assert len(snapshots) > 2
    snapshots[-1].unlink()
    return data


def isr_sizes(admin: AdminClient, topics: Mapping[str, int]) -> set[int]:
    found = admin.list_topics(timeout=DEADLINE_S).topics
    return {len(each.isrs) for name in topics for each in found[name].partitions.values()}


def replicas_on_disk(folder: Path, name: str, index: int) -> list[bytes]:
    return [
        b"".join(path.read_bytes() for path in sorted((folder / str(each) / "data" / f"{name}-{index}").glob("*.log")))
        for each in IDS
    ]


def check_group_goes_on(addresses: str) -> None:
    """A member gets what comes after the committed offsets."""
    consumer = Consumer({"bootstrap.servers": addresses, "group.id": GROUP, "enable.auto.commit": False})
    consumer.subscribe([*TOPICS])
    firsts: dict[str, int] = {}
    while len(firsts) < len(TOPICS):
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        assert message.error() is None
        if message.partition() == 0:
            firsts.setdefault(message.topic(), message.offset())
    consumer.close()
    assert firsts == dict.fromkeys(TOPICS, COMMITTED)


def check_transactions(addresses: str) -> None:
    for isolation, numbers in (("read_committed", (b"0", b"2")), ("read_uncommitted", (b"0", b"1", b"2"))):
        values = [value for *_, value in consume(addresses, TRANSACTIONS, 0, isolation)]
        assert values == [number for number in numbers for _ in range(10)], isolation


@pytest.mark.parametrize("release", ["4.4.0", "4.0.1"])
@pytest.mark.parametrize("source", ["live", "files", "older", "none"])
@pytest.mark.parametrize("version", ["1.1.1", "2.8.2"])
def test_no_acknowledged_record_is_lost(tmp_path: Path, version: str, source: str, release: str) -> None:
    taken: Acknowledged = {}
    with OldCluster(tmp_path, version) as old:
        make_topics(old)
        load_and_stop(old, taken)
        files = tmp_path / "1" / "zookeeper"
        words = {
            "files": ("--zookeeper-data", files),
            "older": ("--zookeeper-data", files),
            "live": ("--zookeeper", old.brokers[1].zookeeper),
            "none": ("--without-zookeeper",),
        }[source]
        if source == "live":
            zookeeper = old.brokers[1].zookeeper
            wait_until(lambda: not read_cluster(read_live_zookeeper(zookeeper)).registered, "all sessions end")
        if source == "older":
            without_newest_snapshot(files)
        plan = migrate(tmp_path, *words, "--to", release[:3])
    assert len(taken) == ROUNDS * sum(TOPICS.values())
    state = read_plan(Files(), str(plan)).state
    assert {each.isr for name in TOPICS for each in state.topics[name].replicas} == {(1,)}
    with NewCluster(tmp_path, release=release) as new:
        check_records(new.addresses, taken)
        check_transactions(new.addresses)
        check_group_goes_on(new.addresses)
        admin = AdminClient({"bootstrap.servers": new.addresses})
        wait_until(lambda: isr_sizes(admin, TOPICS) == {3}, "the late replicas catch up")
        new.nodes[1].kill()
        produce_acknowledged(new.addresses, TOPICS, range(ROUNDS, ROUNDS + 5), taken)
        check_records(new.addresses, taken)
        check_transactions(new.addresses)
        new.nodes[1].start()
        wait_until(lambda: isr_sizes(admin, TOPICS) == {3}, "the killed node catches up")
    for name, partitions in TOPICS.items():
        for index in range(partitions):
            one, two, three = replicas_on_disk(tmp_path, name, index)
            assert one == two == three, (name, index)


@pytest.mark.parametrize("version", ["1.1.1", "2.8.2"])
def test_three_old_brokers_go_on_after_undo(tmp_path: Path, version: str) -> None:
    """What Kafka 4 took is there, too, and the replicas follow the leaders of ZooKeeper's epochs."""
    taken: Acknowledged = {}
    old = OldCluster(tmp_path, version)
    with old:
        make_topics(old)
        load_and_stop(old, taken)
    plan = migrate(tmp_path, "--zookeeper-data", tmp_path / "1" / "zookeeper")
    with NewCluster(tmp_path) as new:
        admin = AdminClient({"bootstrap.servers": new.addresses})
        wait_until(lambda: isr_sizes(admin, TOPICS) == {3}, "the late replicas catch up")
        produce_acknowledged(new.addresses, TOPICS, range(ROUNDS, ROUNDS + 5), taken)
        wait_until(lambda: isr_sizes(admin, TOPICS) == {3}, "all have them")
    undone = run_command("migrate", "undo", plan)
    assert undone.exit_code == 0, undone.stderr
    with old:
        check_records(old.addresses, taken)
        admin = AdminClient({"bootstrap.servers": old.addresses})
        wait_until(lambda: isr_sizes(admin, TOPICS) == {3}, "all replicas follow")
        produce_acknowledged(old.addresses, TOPICS, range(ROUNDS + 5, ROUNDS + 10), taken)
        check_records(old.addresses, taken)
        check_group_goes_on(old.addresses)
