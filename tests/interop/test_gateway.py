"""Old and new clients through the gateway to Kafka 4.4.0: what any of them writes, all of them read."""

from collections.abc import Iterator

import pytest
from support.clients import Client, Span
from support.clients_java import JAVA_0_10_2, JAVA_3_9, OTHER_GENERATIONS
from support.clients_python import PYTHON_CLIENTS
from support.clients_raw import create_topic
from support.gateway_process import GatewayProcess
from support.kafka_4 import LATEST, ApacheKafka4
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


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka4]:
    with ApacheKafka4(tmp_path_factory.mktemp("kafka"), release=LATEST) as kafka:
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
