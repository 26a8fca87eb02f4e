"""Three brokers over one ZooKeeper, and three nodes of Kafka 4 over the directories that they left."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from .deadline import DEADLINE_S
from .kafka_4 import LATEST, ApacheKafka4
from .kafka_old import OldKafka

IDS = (1, 2, 3)
REPLICATED = {
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "min.insync.replicas": "1",
    "log.cleaner.enable": "false",
}

Acknowledged = dict[tuple[str, int, int], bytes]
"""By topic, partition and offset the value that was acknowledged."""


class _OldMember(OldKafka):
    """One of several brokers; the ZooKeeper is the first's."""

    def __init__(self, folder: Path, version: str, broker_id: int, first: "_OldMember | None") -> None:
        super().__init__(folder, version, properties={**REPLICATED, "broker.id": str(broker_id)})
        self._first = first
        if first is not None:
            self._zookeeper_port = first._zookeeper_port

    def _start_others(self) -> None:
        if self._first is None:
            super()._start_others()
        else:
            self.log_dir.mkdir(parents=True, exist_ok=True)
            (self.folder / "log4j.properties").write_text((self._first.folder / "log4j.properties").read_text())

    def stop_only_broker(self) -> None:
        """Stops in order; ZooKeeper stays."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def kill_only_broker(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()


class OldCluster:
    """Three brokers of a version over `folder`/1 to 3; their ZooKeeper is in `folder`/1/zookeeper."""

    def __init__(self, folder: Path, version: str) -> None:
        self.folder = folder
        first = _OldMember(folder / "1", version, 1, None)
        self.brokers = {1: first, **{each: _OldMember(folder / str(each), version, each, first) for each in IDS[1:]}}

    @property
    def addresses(self) -> str:
        return ",".join(broker.address for broker in self.brokers.values())

    def __enter__(self) -> "OldCluster":
        self.brokers[1].start()
        with ThreadPoolExecutor() as others:
            list(others.map(lambda each: self.brokers[each].start(), IDS[1:]))
        return self

    def __exit__(self, *error: object) -> None:
        for each in reversed(IDS):
            self.brokers[each].stop()


class _Member(ApacheKafka4):
    def __init__(self, folder: Path, node_id: int, properties: Mapping[str, str], release: str) -> None:
        own = {"node.id": str(node_id), "metadata.log.dir": str(folder / "data"), "log.cleaner.enable": "false"}
        super().__init__(folder, release=release, properties={**REPLICATED, **properties, **own}, heap="256m")


class NewCluster:
    """Three combined nodes of Kafka 4 over the same folders."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None, release: str = LATEST) -> None:
        self.nodes = {each: _Member(folder / str(each), each, properties or {}, release) for each in IDS}
        voters = ",".join(f"{each}@{node._controller}" for each, node in self.nodes.items())
        for node in self.nodes.values():
            node._properties["controller.quorum.voters"] = voters

    @property
    def addresses(self) -> str:
        return ",".join(node.address for node in self.nodes.values())

    def __enter__(self) -> "NewCluster":
        try:
            with ThreadPoolExecutor() as all_of_them:
                list(all_of_them.map(lambda each: self.nodes[each].start(), IDS))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        with ThreadPoolExecutor() as all_of_them:
            list(all_of_them.map(lambda each: self.nodes[each].stop(), IDS))


def produce_acknowledged(
    addresses: str,
    topics: Mapping[str, int],
    rounds: range,
    taken: Acknowledged,
    events: Mapping[int, Callable[[], object]] | None = None,
) -> None:
    """Records with acks=all to each partition; those that were acknowledged are in `taken`.

    `events` come about at their rounds, while records are on their way.
    """
    producer = Producer({"bootstrap.servers": addresses, "acks": "all", "linger.ms": 5})

    def note(error: object, message: object) -> None:
        if error is None:
            place = message.topic(), message.partition(), message.offset()  # type: ignore[attr-defined]
            taken[place] = message.value()  # type: ignore[attr-defined]

    for number in rounds:
        for name, partitions in topics.items():
            for index in range(partitions):
                producer.produce(name, b"%s %d %d" % (name.encode(), index, number), b"k", index, on_delivery=note)
        (events or {}).get(number, int)()
        producer.poll(0)
    assert producer.flush(DEADLINE_S) == 0


def check_records(addresses: str, taken: Acknowledged) -> None:
    """Each acknowledged record is at its offset."""
    consumer = Consumer({"bootstrap.servers": addresses, "group.id": "reader", "enable.partition.eof": True,
                         "enable.auto.commit": False})  # fmt: skip
    for name, index in sorted({key[:2] for key in taken}):
        wanted = {offset: value for (topic, at, offset), value in taken.items() if (topic, at) == (name, index)}
        consumer.assign([TopicPartition(name, index, 0)])
        found = {}
        while (message := consumer.poll(DEADLINE_S)) is not None and message.error() is None:
            found[message.offset()] = message.value()
        assert {offset: found.get(offset) for offset in wanted} == wanted, (name, index)
    consumer.close()
