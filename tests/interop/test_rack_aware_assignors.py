"""Members are given the partitions that are led in their rack (KIP-881): by Kafka's own assignor, and librdkafka's."""

import struct
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event

import pytest
from confluent_kafka import Consumer
from stepdown.testing import Kafka, running
from support.clients_java import properties
from support.clients_raw import string
from support.deadline import DEADLINE_S
from support.java_oracle import java_oracle_for

RACKS = ("a", "b", "c")


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running(brokers=3, racks=RACKS) as brokers:
        brokers.create_topic("t", 3, replication_factor=1)
        yield brokers


def racks_of_members(kafka: Kafka) -> list[str]:
    """The one who would have partition 0, were there no racks, is in that of partition 1, and so on."""
    leaders = [kafka.partition("t", index).leader for index in range(3)]
    assert len(set(leaders)) == 3
    return [RACKS[leaders[(number + 1) % 3] - 1] for number in range(3)]


def settings(kafka: Kafka, number: int, rack: str) -> dict[str, str]:
    """Assignors take members in the order of their ids, which begin with those of clients."""
    return {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": "g",
        "client.id": f"member-{number}",
        "client.rack": rack,
        "auto.offset.reset": "earliest",
    }


def member(kafka: Kafka, number: int, rack: str) -> Consumer:
    consumer = Consumer({**settings(kafka, number, rack), "log_level": 0})
    consumer.subscribe(["t"])
    return consumer


@contextmanager
def polling(members: Sequence[Consumer]) -> Iterator[None]:
    is_over = Event()

    def poll() -> None:
        while not is_over.is_set():
            for each in members:
                each.poll(0.02)
        for each in members:
            each.close()

    with ThreadPoolExecutor() as pool:
        running_on = pool.submit(poll)
        try:
            yield
        finally:
            is_over.set()
        running_on.result()


def check_assignment(kafka: Kafka) -> None:
    group = kafka.wait_for_consumers("g", members=3, timeout=DEADLINE_S)
    given = {each.client_id: list(each.partitions) for each in group.members}
    assert given == {f"member-{number}": [("t", (number + 1) % 3)] for number in range(3)}


def test_librdkafka_assigns_by_racks(kafka: Kafka) -> None:
    racks = racks_of_members(kafka)
    with polling([member(kafka, number, rack) for number, rack in enumerate(racks)]):
        check_assignment(kafka)


@pytest.mark.java
def test_kafka_assigns_by_racks(kafka: Kafka) -> None:
    """Who comes first assigns for all: here that is Kafka's own consumer."""
    racks = racks_of_members(kafka)
    oracle = java_oracle_for("groups", "org.apache.kafka:kafka-clients:3.9.1")
    reads = struct.pack(">ii", 1, int(DEADLINE_S * 1000))
    payload = properties(settings(kafka, 0, racks[0])) + string("t") + reads
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor())
        first: Future[bytes] = pool.submit(oracle.call, "GroupClient.read", payload, timeout_s=DEADLINE_S + 20)
        kafka.wait_for_consumers("g", members=1, timeout=DEADLINE_S)
        with polling([member(kafka, number, racks[number]) for number in (1, 2)]):
            check_assignment(kafka)
            kafka.produce("t", "x", partition=1)  # which it reads, and leaves
            assert struct.unpack(">iq", first.result(DEADLINE_S)) == (1, 0)
