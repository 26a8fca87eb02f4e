"""Log directories that real old brokers left behind open in stepdown, and all clients read them.

| broker | what it leaves |
|---|---|
| 0.8.2.2 | magic 0, no time indexes, no snapshots, a meta.properties of one line |
| 0.10.2.2 | magic 1 |
| 1.1.1 | magic 2, snapshots, leader epochs |
| 2.8.2 | magic 2, topic ids unknown to ZooKeeper's mode |
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.broker import BrokerProcess, broker_under_test, under_test
from support.clients import Client, Span
from support.clients_java import JAVA_0_10_2, JAVA_3_9, OTHER_GENERATIONS, SCALA_0_8_2
from support.clients_python import AIOKAFKA, PYTHON_CLIENTS
from support.clients_raw import FetchAsk, Raw
from support.kafka_old import OldKafka
from support.kafka_sets import read_sets
from support.samples import first_difference, written_by

pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(
        under_test() == "kafka", reason="Kafka 3.9 in KRaft mode opens no directory of ZooKeeper's time"
    ),
]
BY_NAME: dict[str, Client] = {client.name: client for client in (JAVA_0_10_2, *OTHER_GENERATIONS)}
WRITERS: dict[str, Client] = {
    "0.8.2.2": SCALA_0_8_2,
    "0.10.2.2": JAVA_0_10_2,
    "1.1.1": BY_NAME["java-1.1.1"],
    "2.8.2": BY_NAME["java-2.8.2"],
}
READERS: tuple[Client, ...] = (SCALA_0_8_2, JAVA_0_10_2, JAVA_3_9, *PYTHON_CLIENTS)
ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """A running stepdown over the directory of an old broker, and the client that filled it."""

    broker: BrokerProcess
    writer: Client


def topic_of(codec: str) -> str:
    """Return a topic name long enough for librdkafka, which cannot parse a Metadata v0 answer about one short name."""
    return f"written-in-{codec}"


def can_read(reader: Client, codec: str, magic: int) -> bool:
    """Return whether the library knows the codec at all; aiokafka refuses the LZ4 of magic 0."""
    return codec in reader.codecs and not (reader is AIOKAFKA and codec == "lz4" and magic == 0)


@pytest.fixture(scope="module", params=WRITERS, ids="of {}".format)
def inherited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inherited]:
    """A topic for each codec, each with all samples twice over several segments."""
    folder, writer = tmp_path_factory.mktemp("old"), WRITERS[request.param]
    with OldKafka(folder, request.param, properties={"log.segment.bytes": "1200000"}) as old:
        for codec in writer.codecs:
            old.create_topic(topic_of(codec))
            for _ in range(ROUNDS):
                writer.produce(old.address, "writer", topic_of(codec), 0, written_by(writer), codec)
    broker = broker_under_test(folder)
    broker.start()
    yield Inherited(broker=broker, writer=writer)
    broker.stop()


@pytest.mark.parametrize("reader", [pytest.param(reader, id=reader.name) for reader in READERS])
def test_it_is_read_by(reader: Client, inherited: Inherited) -> None:
    writer = inherited.writer
    wanted = [message.at_magic(reader.read_magic) for message in written_by(writer)] * ROUNDS
    readable = [codec for codec in writer.codecs if can_read(reader, codec, writer.write_magic)]
    spans = [Span(topic=topic_of(codec), count=len(wanted)) for codec in readable]

    received = reader.consume(inherited.broker.address, f"read-{reader.name}", spans)

    for codec in readable:
        mine = [record for record in received if record.topic == topic_of(codec)]
        assert [record.offset for record in mine] == list(range(len(wanted)))
        assert first_difference(wanted, [record.message for record in mine]) is None, codec


def test_it_is_stored_in_the_format_of_its_time(inherited: Inherited) -> None:
    with Raw(inherited.broker.address) as client:
        for codec in inherited.writer.codecs:
            batches = read_sets(client.fetch(4, [FetchAsk(topic=topic_of(codec))])[0].records or b"")
            assert {batch.magic for batch in batches} == {inherited.writer.write_magic}
            assert codec in {batch.codec for batch in batches}


def test_a_modern_producer_goes_on_where_the_old_one_stopped(inherited: Inherited) -> None:
    broker, before = inherited.broker, len(written_by(inherited.writer)) * ROUNDS
    more = written_by(AIOKAFKA)
    AIOKAFKA.produce(broker.address, "modern", topic_of("gzip"), 0, more, "gzip")
    broker.kill()
    broker.start()

    received = JAVA_3_9.consume(
        broker.address, "reader", [Span(topic=topic_of("gzip"), offset=before, count=len(more))]
    )

    assert [record.offset for record in received] == list(range(before, before + len(more)))
    assert first_difference(more, [record.message for record in received]) is None
