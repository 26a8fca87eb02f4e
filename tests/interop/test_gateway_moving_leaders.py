"""Clients of all ages write and read through the gateway while the leaders of three nodes of Kafka 4.4.0 move."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from support.clients import Client, Message, Span
from support.clients_java import JAVA_0_10_2, OTHER_GENERATIONS, JavaClient
from support.clients_python import AIOKAFKA, PYTHON_CLIENTS
from support.cluster_writers import SETTINGS, bootstrap, create, ends_of
from support.gateway_process import GatewayProcess
from support.kafka_cluster import IDS, ApacheKafkaCluster
from support.leader_mover import LeaderMover
from support.samples import first_difference, many

pytestmark = [pytest.mark.java, pytest.mark.slow]

PARTITIONS = 3
MOVES = 4
OLD_JAVA = ("java-0.9.0.1", "java-1.1.1", "java-4.4.0")
CLIENTS: tuple[Client, ...] = (
    *PYTHON_CLIENTS,
    JAVA_0_10_2,
    *(client for client in OTHER_GENERATIONS if client.name in OLD_JAVA),
)
PATIENT = {"retries": "1000", "retry_backoff_ms": "50", "max_in_flight_requests_per_connection": "1"}
"""Java's producers of old give up at the first fault."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafkaCluster]:
    with ApacheKafkaCluster(tmp_path_factory.mktemp("kafka"), SETTINGS, is_latest=True) as cluster:
        yield cluster


@pytest.fixture(scope="module", params=["ports", "single"])
def gateway(
    request: pytest.FixtureRequest, cluster: ApacheKafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    folder: Path = tmp_path_factory.mktemp("gateway")
    with GatewayProcess(folder, bootstrap(cluster), addresses=request.param, refresh_interval_ms=500) as gateway:
        yield gateway


def write(client: Client, address: str, topic: str, partition: int, messages: list[Message]) -> None:
    more = PATIENT if isinstance(client, JavaClient) else {}
    client.produce(address, f"write-{client.name}", topic, partition, messages, "gzip", **more)


def read(client: Client, address: str, topic: str, ends: dict[tuple[str, int], int]) -> dict[int, list[Message]]:
    """The messages of each partition, all of them in the places that they have."""
    spans = [Span(topic=topic, partition=partition, count=ends[topic, partition]) for partition in range(PARTITIONS)]
    received = client.consume(address, f"read-{client.name}", spans, max_bytes=60_000)
    found: dict[int, list[Message]] = {}
    for span in spans:
        mine = [record for record in received if record.partition == span.partition]
        assert [record.offset for record in mine] == list(range(span.count))
        found[span.partition] = [record.message for record in mine]
    return found


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_what_it_writes_is_there_and_it_reads_all_while_leaders_move(
    cluster: ApacheKafkaCluster, gateway: GatewayProcess, request: pytest.FixtureRequest, client: Client
) -> None:
    topic = f"{request.node.callspec.params['gateway']}-{client.name}"
    direct = bootstrap(cluster)
    create(direct, topic, PARTITIONS)
    written = [
        [message.at_magic(client.write_magic) for message in many(100, 1_000, seed=partition)]
        for partition in range(PARTITIONS)
    ]
    rounds = 0
    with LeaderMover(direct, topic, PARTITIONS, IDS) as mover:
        while mover.moves < MOVES:
            mover.must_go_on()
            for partition, messages in enumerate(written):
                write(client, gateway.address, topic, partition, messages)
            rounds += 1
    ends = ends_of(direct, [TopicPartition(topic, each) for each in range(PARTITIONS)])
    there = read(AIOKAFKA, direct, topic, ends)
    with LeaderMover(direct, topic, PARTITIONS, IDS) as mover:
        while mover.moves < MOVES:
            mover.must_go_on()
            through = read(client, gateway.address, topic, ends)
            for partition, messages in there.items():
                wanted = [message.at_magic(client.read_magic) for message in messages]
                assert first_difference(wanted, through[partition]) is None
    for partition, messages in there.items():
        values = [message.value for message in messages]
        assert all(values.count(message.value) >= rounds for message in written[partition]), "nothing is lost"
