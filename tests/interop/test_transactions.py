"""Transactions of real producers, across each other, read by clients of every generation.

read_committed sees what was committed; read_uncommitted, and clients that know no transactions, see every record once,
in its place; nobody sees a marker.
"""

import asyncio
from collections.abc import Iterator

import aiokafka
import confluent_kafka
import pytest
from support.broker import BrokerProcess, broker_under_test
from support.clients import Client, Message, Span
from support.clients_java import JAVA_0_10_2, JAVA_3_9, OTHER_GENERATIONS, SCALA_0_8_2, JavaClient, properties, record
from support.clients_python import PYTHON_CLIENTS
from support.clients_raw import string
from support.deadline import DEADLINE_S

pytestmark = pytest.mark.java

JAVA_4 = OTHER_GENERATIONS[-1]
WRITERS = (JAVA_3_9, JAVA_4)
# librdkafka asks for read_committed unless told otherwise; it has a test of its own.
ASK_FOR_ALL = (
    JAVA_0_10_2,
    SCALA_0_8_2,
    *OTHER_GENERATIONS[1:5],
    *(client for client in PYTHON_CLIENTS if client.name != "confluent"),
)
ROUNDS = 4


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    settings = {"transaction.state.log.num.partitions": "3", "offsets.topic.num.partitions": "3"}
    broker = broker_under_test(tmp_path_factory.mktemp("broker"), properties=settings)
    broker.start()
    yield broker
    broker.stop()


class Steps:
    """Producers driven step by step, with what they wrote: (value, whether it counts) in the order of the log."""

    def __init__(self, writer: JavaClient, address: str, topic: str) -> None:
        self._writer = writer
        self._address = address
        self.topic = topic
        self._steps = bytearray()
        self._open: dict[str, list[int]] = {}
        self.written: list[bytes] = []
        self.counts: list[bool] = []

    def step(self, action: str, producer: str, argument: bytes = b"") -> None:
        self._steps += string(action) + string(producer) + argument

    def open(self, producer: str, **more: str) -> None:
        settings = {"bootstrap.servers": self._address, "linger.ms": "60000", "client.id": producer}
        self.step("open", producer, properties(settings | {key.replace("_", "."): more[key] for key in more}))

    def send(self, producer: str, *values: bytes) -> None:
        for value in values:
            message = Message(key=b"k", value=value, timestamp_ms=1_600_000_000_000)
            self.step("send", producer, record(self.topic, 0, message))
            self._open.setdefault(producer, []).append(len(self.written))
            self.written.append(value)
            self.counts.append(False)
        self.step("flush", producer)

    def end(self, action: str, producer: str) -> None:
        """Commits or aborts; of a producer without transactions all counts anyway."""
        if producer != "plain":
            self.step(action, producer)
        for at in self._open.pop(producer, []):
            self.counts[at] = action == "commit"

    def run(self) -> None:
        self._writer.oracle.call("Script.run", bytes(self._steps), timeout_s=DEADLINE_S)

    @property
    def committed(self) -> list[bytes]:
        return [value for value, counts in zip(self.written, self.counts, strict=True) if counts]


def write(writer: JavaClient, address: str, topic: str, codec: str) -> Steps:
    """Two transactional producers across each other, and one without transactions in between."""
    steps = Steps(writer, address, topic)
    for name in ("t1", "t2"):
        steps.open(name, transactional_id=f"{topic}-{name}", compression_type=codec)
    steps.open("plain", compression_type=codec)
    for number in range(ROUNDS):
        steps.step("begin", "t1")
        steps.send("t1", b"%d-a" % number, b"%d-b" % number)
        steps.step("begin", "t2")
        steps.send("t2", b"%d-c" % number)
        steps.end("abort" if number % 2 else "commit", "t1")
        steps.send("plain", b"%d-d" % number)
        steps.end("commit", "plain")
        steps.send("t2", b"%d-e" % number * 500)
        steps.end("commit" if number % 3 else "abort", "t2")
    steps.send("plain", b"end")
    steps.end("commit", "plain")
    steps.run()
    return steps


@pytest.fixture(
    scope="module",
    params=[pytest.param((w, c), id=f"{w.name}-{c}") for w in WRITERS for c in ("none", "lz4")],
)
def steps(request: pytest.FixtureRequest, broker: BrokerProcess) -> Steps:
    writer, codec = request.param
    topic = f"t-{writer.name}-{codec}"
    broker.create_topic(topic)
    return write(writer, broker.address, topic, codec)


def values(client: Client, broker: BrokerProcess, steps: Steps, count: int, **more: str) -> list[bytes | None]:
    spans = [Span(topic=steps.topic, count=count)]
    received = client.consume(broker.address, f"read-{client.name}", spans, **more)
    return [each.message.value for each in received]


@pytest.mark.parametrize("reader", [pytest.param(reader, id=reader.name) for reader in WRITERS])
def test_java_consumers_see_what_was_committed(broker: BrokerProcess, steps: Steps, reader: JavaClient) -> None:
    committed, written = steps.committed, steps.written
    assert 0 < len(committed) < len(written)
    assert values(reader, broker, steps, len(committed), isolation_level="read_committed") == committed
    assert values(reader, broker, steps, len(written)) == written


@pytest.mark.parametrize(
    "reader",
    [pytest.param(reader, id=reader.name) for reader in ASK_FOR_ALL],
)
def test_clients_that_ask_for_all_see_every_record_once(broker: BrokerProcess, steps: Steps, reader: Client) -> None:
    assert values(reader, broker, steps, len(steps.written)) == steps.written


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_librdkafka_sees_what_it_asks_for(broker: BrokerProcess, steps: Steps, isolation: str) -> None:
    expected = steps.committed if isolation == "read_committed" else steps.written
    assert librdkafka(broker.address, steps.topic, isolation) == expected


def librdkafka(address: str, topic: str, isolation: str) -> list[bytes]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "none",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    found: list[bytes] = []
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    while True:
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
            break
        found.append(message.value())
    consumer.close()
    return found


async def test_aiokafka_sees_what_was_committed(broker: BrokerProcess, steps: Steps) -> None:
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=broker.address, isolation_level="read_committed", enable_auto_commit=False
    )
    await consumer.start()
    place = aiokafka.TopicPartition(steps.topic, 0)
    consumer.assign([place])
    consumer.seek(place, 0)
    async with asyncio.timeout(DEADLINE_S):
        found = [(await consumer.getone()).value for _ in steps.committed]
    await consumer.stop()
    assert found == steps.committed


def test_a_confluent_producer_consumes_transforms_and_produces(broker: BrokerProcess) -> None:
    """Offsets go with the transaction: an abort takes back both, a commit keeps both."""
    broker.create_topic("in")
    broker.create_topic("out")
    JAVA_3_9.produce(broker.address, "in", "in", 0, [Message(key=None, value=b"%d" % n) for n in range(10)], "none")
    settings = {"bootstrap.servers": broker.address, "transactional.id": "copy"}
    producer = confluent_kafka.Producer(settings)
    producer.init_transactions(DEADLINE_S)
    for commit in (False, True):
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": broker.address,
                "group.id": "copy",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        consumer.subscribe(["in"])
        producer.begin_transaction()
        for _ in range(10):
            message = consumer.poll(DEADLINE_S)
            assert message is not None
            assert message.error() is None
            producer.produce("out", message.value())
        places = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), DEADLINE_S)
        if commit:
            producer.commit_transaction(DEADLINE_S)
        else:
            producer.flush(DEADLINE_S)
            producer.abort_transaction(DEADLINE_S)
        consumer.close()
    expected = [b"%d" % n for n in range(10)]
    assert librdkafka(broker.address, "out", "read_committed") == expected
    assert librdkafka(broker.address, "out", "read_uncommitted") == expected * 2


def test_a_new_java_producer_fences_the_former(broker: BrokerProcess) -> None:
    broker.create_topic("fenced")
    steps = Steps(JAVA_3_9, broker.address, "fenced")
    steps.open("old", transactional_id="one")
    steps.step("begin", "old")
    steps.send("old", b"lost")
    steps.open("new", transactional_id="one")
    steps.step("begin", "new")
    steps.send("new", b"kept")
    steps.end("commit", "new")
    steps.run()
    assert librdkafka(broker.address, "fenced", "read_committed") == [b"kept"]
    assert librdkafka(broker.address, "fenced", "read_uncommitted") == [b"lost", b"kept"]
    late = Steps(JAVA_3_9, broker.address, "fenced")
    late.open("old", transactional_id="two")
    late.step("begin", "old")
    late.send("old", b"lost too")
    late.open("new", transactional_id="two")
    late.end("commit", "old")
    with pytest.raises(Exception, match=r"ProducerFenced|InvalidProducerEpoch"):
        late.run()
