"""Old and new clients through the gateway to Kafka 4.4.0: what any of them writes, all of them read."""

from collections.abc import Iterator

import pytest
from support.clients import Client, Span
from support.clients_java import JAVA_0_10_2, JAVA_3_9, OTHER_GENERATIONS
from support.clients_python import PYTHON_CLIENTS
from support.clients_raw import Raw, create_topic
from support.gateway_process import GatewayProcess
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_tools import CONFIG, CONSOLE_PRODUCER, KafkaTools
from support.samples import first_difference, written_by

pytestmark = pytest.mark.java

CLIENTS: tuple[Client, ...] = (*OTHER_GENERATIONS, JAVA_0_10_2, JAVA_3_9, *PYTHON_CLIENTS)
MODERN = PYTHON_CLIENTS[0]
QUICK = {"scala-0.8.2.2", "java-0.9.0.1", "java-4.4.0", *(client.name for client in PYTHON_CLIENTS)}
clients = pytest.mark.parametrize(
    "client",
    [
        pytest.param(client, id=client.name, marks=() if client.name in QUICK else pytest.mark.slow)
        for client in CLIENTS
    ],
)


SHARE_STATE = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
FEATURES = "org.apache.kafka.tools.FeatureCommand"
SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka4]:
    with ApacheKafka4(tmp_path_factory.mktemp("kafka"), release=LATEST, properties=SHARE_STATE) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def gateway(kafka: ApacheKafka4, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with GatewayProcess(tmp_path_factory.mktemp("gateway"), kafka.address) as gateway:
        yield gateway


def write(gateway: GatewayProcess, address: str, client: Client, topic: str) -> None:
    create_topic(gateway.address, topic, partitions=len(client.codecs))  # by requests that Kafka 4 has no more
    for partition, codec in enumerate(client.codecs):
        client.produce(address, f"write-{client.name}", topic, partition, written_by(client), codec)


def read(address: str, reader: Client, writer: Client, topic: str) -> None:
    wanted = [message.at_magic(reader.read_magic) for message in written_by(writer)]
    readable = [at for at, codec in enumerate(writer.codecs) if codec in reader.codecs]
    spans = [Span(topic=topic, partition=partition, count=len(wanted)) for partition in readable]
    received = reader.consume(address, f"read-{reader.name}", spans)
    for partition in readable:
        mine = [record for record in received if record.partition == partition]
        assert [record.offset for record in mine] == list(range(len(wanted)))
        assert first_difference(wanted, [record.message for record in mine]) is None, writer.codecs[partition]


@clients
def test_what_it_writes_a_modern_client_reads_from_the_cluster(
    kafka: ApacheKafka4, gateway: GatewayProcess, client: Client
) -> None:
    topic = f"by-{client.name}"
    write(gateway, gateway.address, client, topic)
    read(kafka.address, MODERN, client, topic)
    read(gateway.address, client, client, topic)


@clients
def test_it_reads_what_a_modern_client_writes(kafka: ApacheKafka4, gateway: GatewayProcess, client: Client) -> None:
    writer, topic = MODERN, f"for-{client.name}"
    write(gateway, kafka.address, writer, topic)
    read(gateway.address, client, writer, topic)


def test_all_that_the_newest_kafka_offers_is_offered(kafka: ApacheKafka4, gateway: GatewayProcess) -> None:
    with Raw(gateway.address) as client, Raw(kafka.address) as direct:
        offered, taken = client.api_versions(), direct.api_versions()
    assert {key: newest for key, (_, newest) in offered.items()} == {key: newest for key, (_, newest) in taken.items()}


def test_a_share_group_reads_through_it_and_finds_all_brokers_at_it(
    kafka: ApacheKafka4, gateway: GatewayProcess
) -> None:
    """Produce 13, Fetch 18 and the requests of share groups, by Kafka's own newest client."""
    tools = KafkaTools(LATEST, address=gateway.address)
    kafka.create_topic("shared")
    tools.run(FEATURES, "--bootstrap-server {address} upgrade --release-version 4.4")
    earliest = "--alter --group sharing --add-config share.auto.offset.reset=earliest"
    tools.run(CONFIG, f"--bootstrap-server {{address}} {earliest}")
    tools.run(CONSOLE_PRODUCER, "--bootstrap-server {address} --topic shared", stdin="one\ntwo\nthree\n")
    read = tools.run(
        SHARE_CONSUMER,
        "--bootstrap-server {address} --topic shared --group sharing --max-messages 3 --timeout-ms 100000",
    )
    assert read.split() == ["one", "two", "three"]
    asked = {name for row in gateway.read_clients() for name in row["requests"]}
    assert {"ShareGroupHeartbeat", "ShareFetch"} <= asked
