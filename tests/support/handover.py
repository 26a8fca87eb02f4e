"""One log directory, had by stepdown and Kafka in turn: what a client does there, what it was told, what is left of it.

`Client` works with whichever of the two serves the directory. It remembers what was acknowledged and checks that all
of it can be read, once, from the other side.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from stepdown.bench.load.admin_connection import Connection
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
ANY_ACL = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


def kafka_over(folder: Path, kind: Callable[..., ApacheKafka] = ApacheKafka) -> ApacheKafka:
    """Kafka over `folder`/data, its metadata log inside as by default."""
    return kind(folder, properties={**SETTINGS, "metadata.log.dir": str(folder / "data")})


@dataclass
class Topic:
    """What was acknowledged of a topic."""

    partitions: int
    configs: dict[str, str] = field(default_factory=dict)
    values: Counter[bytes] = field(default_factory=Counter)
    aborted: set[bytes] = field(default_factory=set)


@dataclass
class Client:
    """Does things at random, the same for the same seed, and remembers what was acknowledged."""

    random: Random
    topics: dict[str, Topic] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    acls: set[str] = field(default_factory=set)
    quotas: dict[str, float] = field(default_factory=dict)
    committed: dict[tuple[str, str], int] = field(default_factory=dict)
    address: str = ""
    _count: int = 0

    def work(self, address: str, steps: int) -> None:
        """Some steps, the first of which may be anything."""
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})
        kinds = [self.create, self.configure, self.produce, self.produce, self.transact, self.commit,
                 self.delete, self.grow, self.remake, self.set_user, self.allow, self.limit]  # fmt: skip
        for _ in range(steps):
            self.random.choice(kinds)()

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
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
        self.topics[name].configs[key] = value

    def produce(self) -> None:
        name = self._some_topic()
        producer = Producer({"bootstrap.servers": self.address, "enable.idempotence": True, "linger.ms": 0})
        self._send(producer, name, self.topics[name].values)

    def transact(self) -> None:
        name = self._some_topic()
        producer = Producer({"bootstrap.servers": self.address, "transactional.id": f"tx-{self.random.randint(1, 3)}"})
        producer.init_transactions(DEADLINE_S)
        producer.begin_transaction()
        values: Counter[bytes] = Counter()
        self._send(producer, name, values)
        if self.random.random() < 0.3:
            producer.abort_transaction(DEADLINE_S)
            self.topics[name].aborted |= set(values)
        else:
            producer.commit_transaction(DEADLINE_S)
            self.topics[name].values += values

    def _send(self, producer: Any, name: str, values: Counter[bytes]) -> None:
        def on_delivery(error: Any, message: Any) -> None:
            assert error is None, error
            values[message.value()] += 1

        for _ in range(self.random.randint(1, 9)):
            self._count += 1
            value = b"value %d" % self._count
            producer.produce(name, key=value, value=value, on_delivery=on_delivery)
        assert producer.flush(DEADLINE_S) == 0

    def commit(self) -> None:
        name, group = self._some_topic(), f"group-{self.random.randint(1, 4)}"
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group, "enable.auto.commit": False})
        self._count += 1
        consumer.commit(offsets=[TopicPartition(name, 0, self._count)], asynchronous=False)
        consumer.close()
        self.committed[group, name] = self._count

    def delete(self) -> None:
        if len(self.topics) > 2:
            name = self._some_topic()
            self.admin.delete_topics([name])[name].result(DEADLINE_S)
            self._forget(name)

    def remake(self) -> None:
        """Kafka gives the settings of the old one to the new one at times, so they are the same."""
        name = self._some_topic()
        configs = self.topics[name].configs
        self.admin.delete_topics([name])[name].result(DEADLINE_S)
        self._forget(name)
        self._until(lambda: name not in self.admin.list_topics(timeout=DEADLINE_S).topics)
        self._make(name, self.random.randint(1, 3), configs)

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
        if user in self.users and self.random.random() < 0.4:
            change: Any = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256)
            del self.users[user]
        else:
            iterations = self.users[user] = self.random.randint(4096, 5000)
            info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, iterations)
            change = UserScramCredentialUpsertion(user, info, b"secret")
        self.admin.alter_user_scram_credentials([change])[user].result(DEADLINE_S)

    def allow(self) -> None:
        principal = f"User:p{self.random.randint(1, 4)}"
        names = (ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, principal, "*", AclOperation.READ)
        if principal in self.acls:
            wanted = AclBindingFilter(*names, AclPermissionType.DENY)
            self.admin.delete_acls([wanted])[wanted].result(DEADLINE_S)
        else:
            binding = AclBinding(*names, AclPermissionType.DENY)
            self.admin.create_acls([binding])[binding].result(DEADLINE_S)
        self.acls ^= {principal}

    def limit(self) -> None:
        user, rate = f"u{self.random.randint(1, 3)}", float(self.random.randint(10**6, 10**7))
        is_gone = user in self.quotas and self.random.random() < 0.4
        operation = OpData(key="consumer_byte_rate", value=rate, remove=is_gone)
        entry = EntryData(entity=(EntityData(entity_type="user", entity_name=user),), ops=(operation,))
        with Connection(self.address, timeout_s=DEADLINE_S) as connection:
            (result,) = connection.call(AlterClientQuotasRequest(entries=(entry,)), 1).entries
        assert result.error_code == 0
        self.quotas[user] = rate
        if is_gone:
            del self.quotas[user]

    def _some_topic(self) -> str:
        if not self.topics:
            self.create()
        return self.random.choice(sorted(self.topics))

    # Checks

    def check(self, address: str) -> None:
        """All that was acknowledged is there, once, and nothing that went."""
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address})
        self._until(lambda: self._found_topics() == {name: topic.partitions for name, topic in self.topics.items()})
        for name, topic in self.topics.items():
            assert self._configs(name) == topic.configs, name
            assert self._values(name) == topic.values, name
        self._until(lambda: self._found_users() == self.users)
        self._until(
            lambda: {acl.principal for acl in self.admin.describe_acls(ANY_ACL).result(DEADLINE_S)} == self.acls
        )
        self._until(lambda: self._found_quotas() == self.quotas)
        for (group, name), offset in self.committed.items():
            assert self._committed(group, name) == offset, (group, name)

    def totals(self) -> str:
        """What the last `check` has found, which is what was acknowledged, once."""
        count = sum(topic.values.total() for topic in self.topics.values())
        return f"{count} records of {len(self.topics)} topics acknowledged and read once, {len(self.committed)} commits"

    def _found_topics(self) -> Mapping[str, int]:
        topics = self.admin.list_topics(timeout=DEADLINE_S).topics
        return {name: len(topic.partitions) for name, topic in topics.items() if not name.startswith("__")}

    def _configs(self, name: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        found = self.admin.describe_configs([resource])[resource].result(DEADLINE_S)
        return {key: entry.value for key, entry in found.items() if entry.source == 1}

    def _values(self, name: str) -> Counter[bytes]:
        return Counter(
            value for index in range(self.topics[name].partitions) for value in self.read_partition(name, index)
        )

    def read_partition(self, name: str, index: int) -> list[bytes]:
        """The values from the first to the last, read_committed."""
        consumer = Consumer(
            {"bootstrap.servers": self.address, "group.id": "reader", "enable.auto.commit": False,
             "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        )  # fmt: skip
        found: list[bytes] = []
        partition = TopicPartition(name, index)
        try:
            end = self._end_offset(consumer, partition)
            consumer.assign([TopicPartition(name, index, 0)])
            self._until(lambda: self._read(consumer, found, partition, end))
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
    def _read(consumer: Any, found: list[bytes], partition: TopicPartition, end: int) -> bool:
        """Whether the end is reached."""
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message.value())
        (at,) = consumer.position([partition])
        return end == 0 or at.offset >= end

    def _found_users(self) -> dict[str, int]:
        described = self.admin.describe_user_scram_credentials().result(DEADLINE_S)
        return {user: each.scram_credential_infos[0].iterations for user, each in described.items()}

    def _found_quotas(self) -> dict[str, float]:
        with Connection(self.address, timeout_s=DEADLINE_S) as connection:
            answer = connection.call(DescribeClientQuotasRequest(components=(), strict=False), 1)
        return {entry.entity[0].entity_name or "": entry.values[0].value for entry in answer.entries or ()}

    def _committed(self, group: str, name: str) -> int:
        request = ConsumerGroupTopicPartitions(group, [TopicPartition(name, 0)])
        found = self.admin.list_consumer_group_offsets([request])[group].result(DEADLINE_S)
        return int(found.topic_partitions[0].offset)

    @staticmethod
    def _until(holds: Callable[[], bool]) -> None:
        """Returns when that is so; each question waits for an answer of the broker, or for a moment."""
        for _ in range(QUESTIONS):
            if holds():
                return
        raise AssertionError("it did not come about")
