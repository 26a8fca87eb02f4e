"""`stepdown migrate`: what a broker with ZooKeeper left is served by Kafka 4.4.0, record by record, and goes back."""

import asyncio
import shutil
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource
from stepdown.bench.servers.ports import free_port
from stepdown.protocol.records.batches import iter_batches
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.metadata_store import MetadataStore
from stepdown.storage.migration.plan_document import read_plan
from stepdown.storage.zookeeper.data_directory import read_data_directory
from stepdown.storage.zookeeper.kafka_cluster import KafkaCluster, read_cluster
from stepdown.storage.zookeeper.live_zookeeper import read_live_zookeeper
from support.clients_raw import wait_until
from support.command import run_command
from support.deadline import DEADLINE_S, MOMENT_S
from support.handover import ANY_ACL, SETTINGS, Client
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_old import OldKafka
from support.kafka_tools import KafkaTools
from support.migrated_records import Seen, as_clients_see, consume, records_on_disk
from support.running import running_broker
from support.zookeeper_cluster import Acknowledged, check_records, produce_acknowledged
from support.zookeeper_directory import CONFIG_TOOL, PARTITIONS, TOPIC_TOOL, ZooKeeperDirectory, leave_directory
from support.zookeeper_directory import SETTINGS as TOPICS

pytestmark = pytest.mark.java

ACL_TOOL = "kafka.admin.AclCommand"
DUMP_TOOL = "org.apache.kafka.tools.DumpLogSegments"
READABLE = "compacted"
"""The topic that the user may read."""
LOGIN = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "alice",
         "sasl.password": "secret"}  # fmt: skip
OFF = {
    "log.cleaner.enable": "false",
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.num.partitions": "50",
}
"""Nothing is compacted before it was compared."""
VERSIONS = [
    "2.8.2",
    pytest.param("1.1.1", marks=pytest.mark.slow),
    pytest.param("0.10.2.2", marks=pytest.mark.slow),
    pytest.param("3.9.1", marks=pytest.mark.slow),
]


@dataclass
class Left:
    """What the old broker left, with users, rules and quotas."""

    directory: ZooKeeperDirectory
    records: dict[tuple[str, int], list[Seen]]
    live: KafkaCluster | None

    @property
    def folder(self) -> Path:
        return self.directory.folder

    def copy(self, folder: Path) -> "Left":
        """The same in a folder of its own, with the times of its files."""
        copied = Path(shutil.copytree(self.folder, folder / "old"))
        return replace(self, directory=replace(self.directory, folder=copied))


def set_access(old: OldKafka) -> None:
    """A user, rules and a quota, by Kafka's own tools."""
    password = "SCRAM-SHA-256=[iterations=4096,password=secret]"
    for user, setting in (("alice", password), ("u1", "consumer_byte_rate=4096")):
        words = ("--alter", "--entity-type", "users", "--entity-name", user, "--add-config", setting)
        old.run_tool(CONFIG_TOOL, *words)
    base = (ACL_TOOL, "--authorizer-properties", f"zookeeper.connect={old.zookeeper}", "--add", "--operation", "Read")
    old.run_main(*base, "--deny-principal", "User:bob", "--topic", "default")
    old.run_main(*base, "--allow-principal", "User:alice", "--topic", READABLE, "--group", "reader")
    if old.version >= "2":
        old.run_main(*base, "--deny-principal", "User:eve", "--topic", "def", "--resource-pattern-type", "prefixed")


@pytest.fixture(scope="module", params=VERSIONS, ids="of {}".format)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Left:
    live: list[KafkaCluster | None] = [None]

    def finish(old: OldKafka) -> None:
        set_access(old)
        if find_spec("kazoo") is not None:
            live[0] = read_cluster(read_live_zookeeper(old.zookeeper))

    directory = leave_directory(tmp_path_factory.mktemp("old"), request.param, finish)
    keys = [(name, index) for name in TOPICS for index in range(PARTITIONS)]
    records = {key: list(records_on_disk(directory.log_dir / f"{key[0]}-{key[1]}")) for key in keys}
    return Left(directory, records, live[0])


def migrate(left: Left, *words: object) -> Path:
    """The plan, after it was applied."""
    plan = left.folder / "plan.yaml"
    planned = run_command("migrate", "plan", "--broker", f"1={left.directory.log_dir}", "--out", plan, *words)
    assert planned.exit_code == 0, planned.stderr
    applied = run_command("migrate", "apply", plan)
    assert applied.exit_code == 0, applied.stderr
    assert "process.roles=broker,controller" in applied.stdout
    return plan


class KafkaWithLogins(ApacheKafka4):
    """Has a listener for SCRAM at `logins`, too."""

    def __init__(self, left: Left, release: str) -> None:
        properties = {**SETTINGS, **OFF, "metadata.log.dir": str(left.directory.log_dir)}
        super().__init__(left.folder, release=release, properties=properties)
        self.logins = f"127.0.0.1:{free_port()}"

    def _settings(self) -> dict[str, str]:
        settings = super()._settings()
        settings["listeners"] += f",SASL_PLAINTEXT://{self.logins}"
        settings["advertised.listeners"] += f",SASL_PLAINTEXT://{self.logins}"
        settings["listener.security.protocol.map"] += ",SASL_PLAINTEXT:SASL_PLAINTEXT"
        module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        own = {"sasl.enabled.mechanisms": "SCRAM-SHA-256"}
        return settings | own | {"listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": module}


def check_all(address: str, logins: str, left: Left, least_segment: str) -> None:
    for (name, index), records in left.records.items():
        assert consume(address, name, index) == as_clients_see(records), (name, index)
    if left.directory.has_transactions:
        assert consume(address, "default", 1, "read_committed") == as_clients_see(left.records["default", 1][:-1])
    admin = AdminClient({"bootstrap.servers": address})
    for (group, name, index), offset in left.directory.committed.items():
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(name, index)])
        answer = admin.list_consumer_group_offsets([request])[group].result(DEADLINE_S)
        assert answer.topic_partitions[0].offset == offset, (group, name, index)
    check_groups_go_on(address, left)
    check_access(address, admin, left)
    check_login(logins)
    check_settings(admin, least_segment)


def check_login(address: str) -> None:
    """The password of ZooKeeper's time is taken, and opens what the rules allow."""
    login = {"bootstrap.servers": address, **LOGIN}
    admin = AdminClient(login)
    assert set(TOPICS) & set(admin.list_topics(timeout=DEADLINE_S).topics) == {READABLE}
    refused = admin.list_topics("default", timeout=DEADLINE_S).topics["default"].error
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    consumer = Consumer({**login, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(READABLE, 0, 0)])
    message = consumer.poll(DEADLINE_S)
    assert message is not None
    assert message.error() is None
    consumer.close()
    with pytest.raises(KafkaException):
        AdminClient({**login, "sasl.password": "wrong"}).list_topics(timeout=MOMENT_S)


def check_groups_go_on(address: str, left: Left) -> None:
    """A member gets what comes after the committed offsets."""
    for group in sorted({group for group, *_ in left.directory.committed}):
        consumer = Consumer({"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False})
        consumer.subscribe(list(TOPICS))
        firsts: dict[tuple[str, str, int], int] = {}
        while len(firsts) < len(TOPICS) * PARTITIONS:
            message = consumer.poll(DEADLINE_S)
            assert message is not None
            assert message.error() is None
            firsts.setdefault((group, message.topic(), message.partition()), message.offset())
        consumer.close()
        assert firsts == {key: offset for key, offset in left.directory.committed.items() if key[0] == group}


def check_access(address: str, admin: Any, left: Left) -> None:
    users = admin.describe_user_scram_credentials().result(DEADLINE_S)
    assert {name: each.scram_credential_infos[0].iterations for name, each in users.items()} == {"alice": 4096}
    named = {"User:alice", "User:bob", *(["User:eve"] if left.directory.version >= "2" else [])}
    assert {each.principal for each in admin.describe_acls(ANY_ACL).result(DEADLINE_S)} == named
    client = Client(random=None, address=address)  # type: ignore[arg-type]  # it only asks
    assert client._found_quotas() == {frozenset({("user", "u1")}): {"consumer_byte_rate": 4096.0}}


def check_settings(admin: Any, least_segment: str) -> None:
    """Those of ZooKeeper, within the limits of who serves them."""
    for name, configs in TOPICS.items():
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        found = admin.describe_configs([resource])[resource].result(DEADLINE_S)
        own = {key: entry.value for key, entry in found.items() if entry.source == 1}
        assert own == {key: least_segment if key == "segment.bytes" else value for key, value in configs.items()}, name


def produce(address: str) -> None:
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    faults: list[Any] = []
    for name in TOPICS:
        producer.produce(name, b"after", b"after", 0, on_delivery=lambda error, _: faults.append(error))
    assert producer.flush(DEADLINE_S) == 0
    assert faults == [None] * len(TOPICS)


def producer_ids(log_dir: Path, since: dict[Path, int]) -> set[int]:
    """Of the batches that were appended to segments since they had those sizes."""
    return {
        batch.producer_id
        for path in log_dir.glob("*-[0-9]/*.log")
        if not path.parent.name.startswith("__")
        for batch in iter_batches(path.read_bytes()[since.get(path, 0) :])
        if batch.magic == 2
    }


def test_a_live_zookeeper_says_the_same_as_its_files(left: Left) -> None:
    pytest.importorskip("kazoo")
    files = read_data_directory(Files(read_only=True), [str(left.folder / "zookeeper")])
    assert not files.gaps
    assert left.live is not None
    assert replace(read_cluster(files.tree), registered=[]) == replace(left.live, registered=[])


@pytest.mark.parametrize("source", ["live", "files"])
async def test_stepdown_serves_all_of_it_when_it_has_adopted_it(left: Left, tmp_path: Path, source: str) -> None:
    left = left.copy(tmp_path)
    old = OldKafka(left.folder, left.directory.version)
    cluster = read_cluster(read_data_directory(Files(read_only=True), [str(old.folder / "zookeeper")]).tree)
    words = ("--zookeeper", old.zookeeper) if source == "live" else ("--zookeeper-data", old.folder / "zookeeper")
    if source == "live":
        pytest.importorskip("kazoo")
        old._start_others()
    try:
        done = await asyncio.to_thread(run_command, "topics", "adopt", "--log-dir", old.log_dir, *words)
    finally:
        old._stop_others()
    assert done.exit_code == 0, done.stderr
    assert f"cluster.id={cluster.cluster_id}" in (old.log_dir / "meta.properties").read_text().splitlines()
    state = MetadataStore.read(Files(read_only=True), [str(old.log_dir)]).state
    for name, topic in cluster.topics.items():
        assert state.topics[name].partitions == len(topic.partitions), name
        assert topic.topic_id in (None, state.topics[name].topic_id), name
    assert set(state.acls) == set(cluster.acls)
    assert state.next_producer_id >= cluster.next_producer_id
    settings = {key.replace(".", "_"): value for key, value in {**SETTINGS, **OFF}.items()}
    listeners = "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"
    settings |= {"listeners": listeners, "sasl_enabled_mechanisms": "SCRAM-SHA-256"}
    async with running_broker(old.log_dir, **settings) as broker:
        logins = str(broker.addresses["SASL_PLAINTEXT"])
        await asyncio.to_thread(check_all, str(broker.address), logins, left, "20000")


@pytest.mark.parametrize("release", [LATEST, pytest.param("4.0.1", marks=pytest.mark.slow)])
def test_kafka_4_serves_all_of_it_and_the_way_back_is_open(left: Left, tmp_path: Path, release: str) -> None:
    left = left.copy(tmp_path)
    log_dir = left.directory.log_dir
    meta = (log_dir / "meta.properties").read_bytes()
    segments = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in log_dir.rglob("*.log")}
    ids = set(log_dir.rglob("partition.metadata"))
    plan = migrate(left, "--zookeeper-data", left.folder / "zookeeper", "--to", release[:3])
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in segments} == segments
    (snapshot,) = log_dir.glob("__cluster_metadata-0/*.checkpoint")
    dumped = KafkaTools(LATEST, file=str(snapshot)).run(DUMP_TOOL, "--cluster-metadata-decoder --files {file}")
    assert dumped.count('"type":"PARTITION_RECORD"') == sum(
        topic.partitions for topic in read_plan(Files(), str(plan)).state.topics.values()
    )
    assert "rror" not in dumped
    sizes = {path: len(data) for path, (data, _) in segments.items()}
    old_ids = producer_ids(log_dir, {})
    with KafkaWithLogins(left, release) as kafka:
        check_all(kafka.address, kafka.logins, left, "1048576")
        produce(kafka.address)
    assert not list(log_dir.glob("*-stray"))
    new_ids = producer_ids(log_dir, sizes)
    assert new_ids
    assert not new_ids & old_ids - {-1}, "no producer id is given twice"
    undone = run_command("migrate", "undo", plan)
    assert undone.exit_code == 0, undone.stderr
    assert (log_dir / "meta.properties").read_bytes() == meta
    assert set(log_dir.rglob("partition.metadata")) == ids
    assert not list(log_dir.glob("__cluster_metadata*"))
    if left.directory.has_transactions:
        check_way_back(left, old_ids | new_ids)


def check_way_back(left: Left, known_ids: set[int]) -> None:
    """The old broker serves its records and those of Kafka 4, and gives no producer id that one of both gave."""
    log_dir = left.directory.log_dir
    records = {key: list(records_on_disk(log_dir / f"{key[0]}-{key[1]}")) for key in left.records}
    assert records["default", 0][-1][2:] == (b"after", b"after")
    sizes = {path: path.stat().st_size for path in log_dir.rglob("*.log")}
    with OldKafka(left.folder, left.directory.version, properties={**OFF, "super.users": "User:ANONYMOUS"}) as old:
        for (name, index), expected in records.items():
            assert consume(old.address, name, index) == as_clients_see(expected), (name, index)
        produce(old.address)
    ids = producer_ids(log_dir, sizes)
    assert ids
    assert not ids & known_ids - {-1}


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.0.1", LATEST])
def test_a_move_between_two_directories_goes_on(tmp_path: Path, release: str) -> None:
    """A move was under way (`-future`) when the broker of two directories stopped."""
    disks = [tmp_path / "data", tmp_path / "more"]
    log_dirs = {"log.dirs": ",".join(map(str, disks))}
    taken: Acknowledged = {}
    with OldKafka(tmp_path, "2.8.2", properties=log_dirs) as old:
        layout = ("--partitions", "4", "--replication-factor", "1")
        old.run_tool(TOPIC_TOOL, "--create", "--topic", "moved", *layout)
        produce_acknowledged(old.address, {"moved": 4}, range(100), taken)
    source = sorted(disks[0].glob("moved-*"))[0]
    shutil.copytree(source, disks[1] / f"{source.name}.{'0' * 32}-future")
    plan = tmp_path / "plan.yaml"
    words = ("--broker", f"1={log_dirs['log.dirs']}", "--zookeeper-data", tmp_path / "zookeeper", "--to", release[:3])
    for command in (("plan", *words, "--out", plan), ("apply", plan)):
        done = run_command("migrate", *command)
        assert done.exit_code == 0, done.stderr
    properties = {**SETTINGS, **OFF, **log_dirs, "metadata.log.dir": str(disks[0])}
    with ApacheKafka4(tmp_path, release=release, properties=properties) as kafka:
        check_records(kafka.address, taken)
        wait_until(lambda: (disks[1] / source.name).is_dir(), "the move ends")
        check_records(kafka.address, taken)
    assert not [path for disk in disks for path in disk.glob("*-stray")]
