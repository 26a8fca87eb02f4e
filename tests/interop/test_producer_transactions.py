"""Our producer's transactions before stepdown and Apache Kafka; the Java consumer reads what was committed."""

import asyncio
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from stepdown.producer import Fenced, GroupMetadata, Producer, ProducerError
from support.broker import BrokerProcess, broker_under_test
from support.clients import Span
from support.clients_java import JAVA_3_9
from support.deadline import DEADLINE_S
from support.kafka import ApacheKafka
from support.kafka_4 import ApacheKafka4

pytestmark = pytest.mark.java
END = b"the end"


@pytest.fixture(scope="module", params=["stepdown", "kafka-3.9.1", "kafka-4.1.1"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    folder = tmp_path_factory.mktemp("cluster")
    kinds = {"stepdown": broker_under_test, "kafka-3.9.1": ApacheKafka, "kafka-4.1.1": ApacheKafka4}
    broker: BrokerProcess = kinds[request.param](folder)
    broker.start()
    yield broker
    broker.stop()


async def committed(cluster: BrokerProcess, topic: str) -> list[bytes]:
    """What a read_committed consumer gets, in order; a last record ends it, so that nothing is left unread."""
    async with Producer(cluster.address) as producer:
        await producer.send(topic, END, partition=0)
    found: list[bytes] = []
    while END not in found:
        spans = [Span(topic=topic, count=len(found) + 1)]
        found = await asyncio.to_thread(read, cluster, spans)
    return found[:-1]


def read(cluster: BrokerProcess, spans: list[Span]) -> list[bytes]:
    received = JAVA_3_9.consume(cluster.address, "check", spans, isolation_level="read_committed")
    return [record.message.value or b"" for record in received]


async def test_what_was_committed_is_read_and_what_was_aborted_is_not(cluster: BrokerProcess) -> None:
    await asyncio.to_thread(cluster.create_topic, "ends")
    expected = []
    async with Producer(cluster.address, transactional_id="ends", linger_ms=2) as producer:
        await producer.init_transactions()
        for number in range(12):
            producer.begin_transaction()
            values = [b"%d-%d" % (number, index) for index in range(20)]
            deliveries = [producer.send("ends", value, partition=0) for value in values]
            if number % 3:
                await producer.commit_transaction()
                expected += values
            else:
                await deliveries[0]
                await producer.abort_transaction()
    assert await committed(cluster, "ends") == expected


async def test_a_second_producer_fences_the_first(cluster: BrokerProcess) -> None:
    await asyncio.to_thread(cluster.create_topic, "fence")
    first = Producer(cluster.address, transactional_id="fence")
    async with first, Producer(cluster.address, transactional_id="fence") as second:
        await first.init_transactions()
        first.begin_transaction()
        await first.send("fence", b"lost", partition=0)
        await second.init_transactions()
        with pytest.raises(Fenced):
            await first.commit_transaction()
        with pytest.raises(Fenced):
            first.begin_transaction()
        async with second.transaction():
            second.send("fence", b"kept", partition=0)
    assert await committed(cluster, "fence") == [b"kept"]


async def test_records_of_a_fenced_producer_are_refused(cluster: BrokerProcess) -> None:
    await asyncio.to_thread(cluster.create_topic, "refused")
    first = Producer(cluster.address, transactional_id="refused")
    async with first, Producer(cluster.address, transactional_id="refused") as second:
        await first.init_transactions()
        first.begin_transaction()
        await first.send("refused", b"lost", partition=0)
        await second.init_transactions()
        with pytest.raises(ProducerError):
            await first.send("refused", b"refused", partition=0)
        with pytest.raises(Fenced):
            await first.abort_transaction()
    assert await committed(cluster, "refused") == []


async def test_an_unhappy_record_spoils_one_transaction_and_not_the_next(cluster: BrokerProcess) -> None:
    await asyncio.to_thread(cluster.create_topic, "spoilt", configs={"max.message.bytes": "2000"})
    async with Producer(cluster.address, transactional_id="spoilt") as producer:
        await producer.init_transactions()
        with pytest.raises(ProducerError):
            async with producer.transaction():
                producer.send("spoilt", b"fits", partition=0)
                producer.send("spoilt", b"x" * 5000, partition=0)
        for number in range(3):
            async with producer.transaction():
                producer.send("spoilt", b"%d" % number, partition=0)
    assert await committed(cluster, "spoilt") == [b"0", b"1", b"2"]


async def test_offsets_of_a_group_are_committed_with_the_records_or_not_at_all(cluster: BrokerProcess) -> None:
    await asyncio.to_thread(cluster.create_topic, "offsets", partitions=2)
    async with Producer(cluster.address, transactional_id="offsets") as producer:
        await producer.init_transactions()
        for offset, commits in ((3, True), (9, False)):
            producer.begin_transaction()
            await producer.send_offsets_to_transaction({("offsets", 1): offset}, GroupMetadata(group_id="readers"))
            await (producer.commit_transaction() if commits else producer.abort_transaction())
        producer.begin_transaction()
        with pytest.raises(ProducerError):
            stale = GroupMetadata(group_id="readers", generation=77, member_id="nobody")
            await producer.send_offsets_to_transaction({("offsets", 1): 20}, stale)
        await producer.abort_transaction()
    assert await asyncio.to_thread(committed_offset, cluster.address, "readers", "offsets", 1) == 3


def committed_offset(address: str, group: str, topic: str, partition: int) -> int:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": group})
    [place] = consumer.committed([confluent_kafka.TopicPartition(topic, partition)], DEADLINE_S)
    consumer.close()
    offset: int = place.offset
    return offset


class Copier:
    """The program, as a process."""

    def __init__(self, address: str, records: int) -> None:
        support = Path(__file__).resolve().parents[1]
        command = [sys.executable, "-m", "support.producer_copier", address, "copy-in", "copy-out", str(records)]
        self._process = subprocess.Popen(command, cwd=support, stdout=subprocess.PIPE)

    def commits(self, count: int) -> int:
        """How many transactions were committed, at least `count` unless it ended."""
        assert self._process.stdout is not None
        seen = 0
        while seen < count:
            assert select.select([self._process.stdout], [], [], DEADLINE_S)[0], "nothing was committed"
            part = os.read(self._process.stdout.fileno(), 4096)
            if not part:
                break
            seen += part.count(b"\n")
        return seen

    def end(self) -> int:
        self.commits(1 << 30)
        return self._process.wait()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


async def test_a_copy_that_is_killed_in_the_middle_goes_on_exactly(cluster: BrokerProcess) -> None:
    records, kills = 300, 3
    for topic in ("copy-in", "copy-out"):
        await asyncio.to_thread(cluster.create_topic, topic)
    async with Producer(cluster.address, linger_ms=2) as producer:
        values = [b"value-%d" % number for number in range(records)]
        for value in values:
            producer.send("copy-in", value, partition=0)
    for _ in range(kills):
        copier = Copier(cluster.address, records)
        try:
            assert await asyncio.to_thread(copier.commits, 4)
        finally:
            copier.kill()
    copier = Copier(cluster.address, records)
    try:
        assert await asyncio.to_thread(copier.end) == 0
    finally:
        copier.kill()
    assert await committed(cluster, "copy-out") == [value.upper() for value in values]
