"""One log directory, had by stepdown and Kafka in turn: what a client does there, what it was told, what is left of it.

`Client` works with whichever of the two serves the directory. It remembers what was acknowledged and checks that all
of it can be read, once, from the other side.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from stepdown.bench.servers.admin_connection import Connection
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

from .deadline import DEADLINE_S
from .kafka import ApacheKafka

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.retention.ms": "-1",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}
"""Of both sides."""
QUESTIONS = 10_000
CONFIGS = ({}, {"cleanup.policy": "compact"}, {"retention.ms": "-1", "segment.bytes": "2000000"})
CHANGES = (("retention.bytes", "-1"), ("max.message.bytes", "2000000"), ("segment.ms", "9000000"))
BROKER_CHANGES = (("message.max.bytes", "1500000"), ("log.retention.bytes", "-1"), ("log.segment.bytes", "3000000"))
BROKER_ID = "1"
QUOTA_KEYS = ("consumer_byte_rate", "producer_byte_rate")
ENTITIES = ({"user": "u1"}, {"user": "u2"}, {"user": None}, {"client-id": "c1"}, {"client-id": "c1", "user": "u1"})
RECONNECT = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100}
OPEN_ID = "tx-open"
Acl = tuple[ResourceType, str, ResourcePatternType, str, AclPermissionType]
Quotas = dict[frozenset[tuple[str, str | None]], dict[str, float]]
ANY_ACL = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


def kafka_over(folder: Path, kind: Callable[..., ApacheKafka] = ApacheKafka, *, address: str = "") -> ApacheKafka:
    """Kafka over `folder`/data, its metadata log inside as by default."""
    kafka = kind(folder, properties={**SETTINGS, "metadata.log.dir": str(folder / "data")})
    if address:
        kafka.address = address
    return kafka


@dataclass
class Topic:
    """What was acknowledged of a topic."""

    partitions: int
    configs: dict[str, str] = field(default_factory=dict)
    values: Counter[bytes] = field(default_factory=Counter)
    topic_id: str = ""
    """As it was found first."""


@dataclass
class OpenTransaction:
    """A transaction that is on, perhaps over hand-overs, and what was acknowledged in it."""

    producer: Any
    topic: str
    values: Counter[bytes]


@dataclass
class Client:
    """Does things at random, the same for the same seed, and remembers what was acknowledged.

    Where both sides have the same address, its idempotent producer and its open transaction live through hand-overs.
    """

    random: Random
    topics: dict[str, Topic] = field(default_factory=dict)
    users: dict[tuple[str, ScramMechanism], int] = field(default_factory=dict)
    acls: set[Acl] = field(default_factory=set)
    quotas: Quotas = field(default_factory=dict)
    broker_configs: dict[str, str] = field(default_factory=dict)
    committed: dict[tuple[str, str], int] = field(default_factory=dict)
    address: str = ""
    _count: int = 0
    _producer: Any = None
    _open: OpenTransaction | None = None

    def work(self, address: str, steps: int) -> None:
        """Some steps, the first of which may be anything."""
        self._connect(address)
        kinds = [self.create, self.configure, self.produce, self.produce, self.produce, self.transact, self.transact,
                 self.span, self.span, self.commit, self.commit, self.forget_group, self.delete, self.grow, self.remake,
                 self.set_user, self.allow, self.limit, self.configure_broker]  # fmt: skip
        for _ in range(steps):
            self.random.choice(kinds)()

    def _connect(self, address: str) -> None:
        if address != self.address:
            self._producer = None
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})

    # Steps

    def create(self) -> None:
        self._count += 1
        name = f"topic-{self._count}"
        self._make(name, self.random.randint(1, 3), self.random.choice(CONFIGS))

    def _make(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=configs)
        self.admin.create_topics([new])[name].result(DEADLINE_S)
        self.topics[name] = Topic(partitions, dict(configs))

    def configure(self) -> None:
        name = self._some_topic()
        key, value = self.random.choice(CHANGES)
        self._alter(ConfigResource.Type.TOPIC, name, key, value, self.topics[name].configs)

    def configure_broker(self) -> None:
        key, value = self.random.choice(BROKER_CHANGES)
        self._alter(ConfigResource.Type.BROKER, BROKER_ID, key, value, self.broker_configs)

    def _alter(self, kind: ConfigResource.Type, name: str, key: str, value: str, known: dict[str, str]) -> None:
        """Sets the value, or takes it away where it is set."""
        is_set = key in known and self.random.random() < 0.5
        operation = AlterConfigOpType.DELETE if is_set else AlterConfigOpType.SET
        entry = ConfigEntry(key, None if is_set else value, incremental_operation=operation)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
        known.pop(key, None)
        if not is_set:
            known[key] = value

    def produce(self) -> None:
        name = self._some_topic()
        if self._producer is None or self.random.random() < 0.1:
            self._producer = Producer(
                {"bootstrap.servers": self.address, "enable.idempotence": True, "linger.ms": 5, **RECONNECT}
            )
        self._send(self._producer, name, self.topics[name].values)

    def transact(self) -> None:
        name = self._some_topic()
        producer = self._transactional(f"tx-{self.random.randint(1, 3)}")
        producer.begin_transaction()
        values: Counter[bytes] = Counter()
        self._send(producer, name, values)
        group = self._send_offsets(producer, name) if self.random.random() < 0.4 else ""
        if self.random.random() < 0.3:
            producer.abort_transaction(DEADLINE_S)
        else:
            producer.commit_transaction(DEADLINE_S)
            self.topics[name].values += values
            if group:
                self.committed[group, name] = self._count

    def _transactional(self, transactional_id: str) -> Any:
        producer = Producer(
            {"bootstrap.servers": self.address, "transactional.id": transactional_id,
             "transaction.timeout.ms": 900_000, **RECONNECT}
        )  # fmt: skip
        producer.init_transactions(DEADLINE_S)
        return producer

    def _send_offsets(self, producer: Any, name: str) -> str:
        """Offset `_count` of the topic's first partition, for the group that is returned."""
        group = self._some_group()
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group})
        self._count += 1
        offsets = [TopicPartition(name, 0, self._count)]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), DEADLINE_S)
        consumer.close()
        return group

    def span(self) -> None:
        """Begins a transaction, or goes on with the one that is on and ends it."""
        if self._open is None:
            producer = self._transactional(OPEN_ID)
            producer.begin_transaction()
            self._open = OpenTransaction(producer, self._some_topic(), Counter())
            self._send(producer, self._open.topic, self._open.values)
        else:
            self.end_open()

    def end_open(self) -> None:
        """Ends the transaction that is on: by its producer, or by another with its transactional id."""
        opened, self._open = self._open, None
        if opened is None:
            return
        way = self.random.choice(("commit", "commit", "abort", "fence"))
        if way == "fence":
            self._transactional(OPEN_ID)
            return
        self._send(opened.producer, opened.topic, opened.values)
        if way == "abort":
            opened.producer.abort_transaction(DEADLINE_S)
        else:
            opened.producer.commit_transaction(DEADLINE_S)
            self.topics[opened.topic].values += opened.values

    def _send(self, producer: Any, name: str, values: Counter[bytes]) -> None:
        def on_delivery(error: Any, message: Any) -> None:
            assert error is None, error
            values[message.value()] += 1

        for _ in range(self.random.randint(1, 50)):
            self._count += 1
            value = b"value %d" % self._count
            producer.produce(name, key=value, value=value, on_delivery=on_delivery)
        assert producer.flush(DEADLINE_S) == 0

    def commit(self) -> None:
        name, group = self._some_topic(), self._some_group()
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group, "enable.auto.commit": False})
        self._count += 1
        consumer.commit(offsets=[TopicPartition(name, 0, self._count)], asynchronous=False)
        consumer.close()
        self.committed[group, name] = self._count

    def forget_group(self) -> None:
        known = sorted({group for group, _ in self.committed})
        if known:
            group = self.random.choice(known)
            self.admin.delete_consumer_groups([group])[group].result(DEADLINE_S)
            self.committed = {key: offset for key, offset in self.committed.items() if key[0] != group}

    def delete(self) -> None:
        name = self._some_topic()
        if len(self.topics) > 2 and not self._is_open(name):
            self.admin.delete_topics([name])[name].result(DEADLINE_S)
            self._forget(name)

    def remake(self) -> None:
        """Kafka gives the settings of the old one to the new one at times, so they are the same."""
        name = self._some_topic()
        if self._is_open(name):
            return
        configs = self.topics[name].configs
        self.admin.delete_topics([name])[name].result(DEADLINE_S)
        self._forget(name)
        self._until(lambda: name not in self.admin.list_topics(timeout=DEADLINE_S).topics)
        self._make(name, self.random.randint(1, 3), configs)
        self._producer = None  # librdkafka fails what it has spread over more partitions than there are now

    def _forget(self, name: str) -> None:
        del self.topics[name]
        self.committed = {key: offset for key, offset in self.committed.items() if key[1] != name}

    def grow(self) -> None:
        name = self._some_topic()
        topic = self.topics[name]
        if topic.partitions < 6:
            topic.partitions += 1
            self.admin.create_partitions([NewPartitions(name, topic.partitions)])[name].result(DEADLINE_S)

    def set_user(self) -> None:
        user = f"user-{self.random.randint(1, 3)}"
        mechanism = self.random.choice((ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512))
        if (user, mechanism) in self.users and self.random.random() < 0.4:
            change: Any = UserScramCredentialDeletion(user, mechanism)
            del self.users[user, mechanism]
        else:
            iterations = self.users[user, mechanism] = self.random.randint(4096, 5000)
            change = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, iterations), b"secret")
        self.admin.alter_user_scram_credentials([change])[user].result(DEADLINE_S)

    def allow(self) -> None:
        acl: Acl = (
            self.random.choice((ResourceType.TOPIC, ResourceType.GROUP)),
            "orders",
            self.random.choice((ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED)),
            f"User:p{self.random.randint(1, 3)}",
            self.random.choice((AclPermissionType.DENY, AclPermissionType.ALLOW)),
        )
        names = (*acl[:4], "*", AclOperation.READ, acl[4])
        if acl in self.acls:
            wanted = AclBindingFilter(*names)
            self.admin.delete_acls([wanted])[wanted].result(DEADLINE_S)
        else:
            binding = AclBinding(*names)
            self.admin.create_acls([binding])[binding].result(DEADLINE_S)
        self.acls ^= {acl}

    def limit(self) -> None:
        entity, key = self.random.choice(ENTITIES), self.random.choice(QUOTA_KEYS)
        known = self.quotas.setdefault(frozenset(entity.items()), {})
        rate, is_gone = float(self.random.randint(10**6, 10**7)), key in known and self.random.random() < 0.4
        operation = OpData(key=key, value=rate, remove=is_gone)
        names = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items())
        with Connection(self.address, timeout_s=DEADLINE_S) as connection:
            request = AlterClientQuotasRequest(entries=(EntryData(entity=names, ops=(operation,)),))
            (result,) = connection.call(request, 1).entries
        assert result.error_code == 0
        known[key] = rate
        if is_gone:
            del known[key]

    def _is_open(self, name: str) -> bool:
        return self._open is not None and self._open.topic == name

    def _some_group(self) -> str:
        return f"group-{self.random.randint(1, 4)}"

    def _some_topic(self) -> str:
        if not self.topics:
            self.create()
        return self.random.choice(sorted(self.topics))

    # Checks

    def check(self, address: str) -> None:
        """All that was acknowledged is there, once, and nothing that went."""
        self._connect(address)
        self._until(lambda: self._found_topics() == {name: topic.partitions for name, topic in self.topics.items()})
        self._check_ids()
        for name, topic in self.topics.items():
            self._until(lambda: self._configs(ConfigResource.Type.TOPIC, name) == topic.configs)  # noqa: B023
        self._until(lambda: self._configs(ConfigResource.Type.BROKER, BROKER_ID) == self.broker_configs)
        self._check_values()
        self._until(lambda: self._found_users() == self.users)
        self._until(lambda: self._found_acls() == self.acls)
        self._until(lambda: self._found_quotas() == {entity: known for entity, known in self.quotas.items() if known})
        for (group, name), offset in self.committed.items():
            self._until(lambda: self._committed(group, name) == offset)  # noqa: B023

    def totals(self) -> str:
        """What the last `check` has found, which is what was acknowledged, once."""
        count = sum(topic.values.total() for topic in self.topics.values())
        return f"{count} records of {len(self.topics)} topics acknowledged and read once, {len(self.committed)} commits"

    def _found_topics(self) -> Mapping[str, int]:
        topics = self.admin.list_topics(timeout=DEADLINE_S).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if not name.startswith("__")}

    def _check_ids(self) -> None:
        if self.topics:
            for name, future in self.admin.describe_topics(TopicCollection(list(self.topics))).items():
                found = str(future.result(DEADLINE_S).topic_id)
                assert (self.topics[name].topic_id or found) == found, name
                self.topics[name].topic_id = found

    def _configs(self, kind: ConfigResource.Type, name: str) -> dict[str, str]:
        """Those that were set on the topic, or on the broker."""
        resource = ConfigResource(kind, name)
        found = self.admin.describe_configs([resource])[resource].result(DEADLINE_S)
        own = (
            ConfigSource.DYNAMIC_TOPIC_CONFIG
            if kind is ConfigResource.Type.TOPIC
            else ConfigSource.DYNAMIC_BROKER_CONFIG
        )
        return {key: entry.value for key, entry in found.items() if entry.source == own.value}

    def _check_values(self) -> None:
        """Of a topic with an open transaction, nothing after its first record can be read."""
        names = [name for name in self.topics if not self._is_open(name)]
        found = self.read([(name, index) for name in names for index in range(self.topics[name].partitions)])
        for name in names:
            values = Counter(value for key, values in found.items() if key[0] == name for value in values)
            assert values == self.topics[name].values, (name, values - self.topics[name].values)

    def read(self, partitions: Sequence[tuple[str, int]]) -> dict[tuple[str, int], list[bytes]]:
        """The values of each partition from the first to the last, read_committed."""
        consumer = Consumer(
            {"bootstrap.servers": self.address, "group.id": "reader", "enable.auto.commit": False,
             "auto.offset.reset": "earliest", "isolation.level": "read_committed", "fetch.wait.max.ms": 20}
        )  # fmt: skip
        found: dict[tuple[str, int], list[bytes]] = {key: [] for key in partitions}
        ends: dict[tuple[str, int], int] = {}
        try:
            for key in partitions:
                ends[key] = self._end_offset(consumer, TopicPartition(*key))
            consumer.assign([TopicPartition(*key, 0) for key in partitions if ends[key]])
            self._until(lambda: self._poll(consumer, found, ends))
        finally:
            consumer.close()
        return found

    def _end_offset(self, consumer: Any, partition: TopicPartition) -> int:
        """Kafka answers Metadata before it leads: then the offset is asked again."""
        found: list[int] = []

        def has_answered() -> bool:
            try:
                found.append(consumer.get_watermark_offsets(partition, timeout=DEADLINE_S)[1])
            except KafkaException as fault:
                if fault.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
                    raise
            return bool(found)

        self._until(has_answered)
        return found[0]

    @staticmethod
    def _poll(consumer: Any, found: dict[tuple[str, int], list[bytes]], ends: Mapping[tuple[str, int], int]) -> bool:
        """Whether all ends are reached."""
        for message in consumer.consume(1000, 0.05):
            assert message.error() is None, message.error()
            found[message.topic(), message.partition()].append(message.value())
        positions = consumer.position([TopicPartition(*key) for key, end in ends.items() if end])
        return all(at.offset >= ends[at.topic, at.partition] for at in positions)

    def _found_users(self) -> dict[tuple[str, ScramMechanism], int]:
        described = self.admin.describe_user_scram_credentials().result(DEADLINE_S)
        return {
            (user, info.mechanism): info.iterations
            for user, each in described.items()
            for info in each.scram_credential_infos
        }

    def _found_acls(self) -> set[Acl]:
        found = self.admin.describe_acls(ANY_ACL).result(DEADLINE_S)
        return {(acl.restype, acl.name, acl.resource_pattern_type, acl.principal, acl.permission_type) for acl in found}

    def _found_quotas(self) -> Quotas:
        with Connection(self.address, timeout_s=DEADLINE_S) as connection:
            answer = connection.call(DescribeClientQuotasRequest(components=(), strict=False), 1)
        return {
            frozenset((part.entity_type, part.entity_name) for part in entry.entity): {
                value.key: value.value for value in entry.values
            }
            for entry in answer.entries or ()
        }

    def _committed(self, group: str, name: str) -> int | None:
        """Nothing while the coordinator loads."""
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(name, 0)])
        try:
            found = self.admin.list_consumer_group_offsets([request])[group].result(DEADLINE_S)
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
                raise
            return None
        return int(found.topic_partitions[0].offset)

    @staticmethod
    def _until(holds: Callable[[], bool]) -> None:
        """Returns when that is so; each question waits for an answer of the broker, or for a moment."""
        for _ in range(QUESTIONS):
            if holds():
                return
        raise AssertionError("it did not come about")
