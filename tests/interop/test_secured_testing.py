"""`running(security=…)` and the marker's `security`: each client comes in with the settings that it is told."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import aiokafka
import confluent_kafka
import pytest
from stepdown.client.errors import KafkaError
from stepdown.producer import Producer
from stepdown.testing import Kafka, running
from stepdown.testing.security.client_settings import FIRST
from support import kafka_python_round_trip, librdkafka_round_trip
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.deadline import DEADLINE_S

SECURED = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
USERS = {"alice": 'se"cr\\xet,=ä', "bob": "secret of bob"}
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
VALUE = b"x" * 50_000


def by_confluent_kafka(broker: Kafka, user: str, mechanism: str) -> None:
    librdkafka_round_trip.round_trip("t", VALUE, broker.clients.confluent_kafka(user, mechanism))


def by_kafka_python(broker: Kafka, user: str, mechanism: str) -> None:
    kafka_python_round_trip.round_trip("t", VALUE, broker.clients.kafka_python(user, mechanism))


def by_aiokafka(broker: Kafka, user: str, mechanism: str) -> None:
    async def round_trip() -> None:
        settings = broker.clients.aiokafka(user, mechanism)
        async with aiokafka.AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait("t", VALUE)
        async with aiokafka.AIOKafkaConsumer("t", auto_offset_reset="earliest", **settings) as consumer:
            assert (await consumer.getone()).value == VALUE

    asyncio.run(round_trip())


def by_our_producer(broker: Kafka, user: str, mechanism: str) -> None:
    async def send() -> None:
        settings = broker.clients.java(user, mechanism)
        async with Producer(settings.pop("bootstrap.servers"), **settings) as producer:
            assert (await producer.send("t", VALUE)).partition == 0

    asyncio.run(send())


def by_java(broker: Kafka, user: str, mechanism: str) -> None:
    settings = broker.clients.java(user, mechanism)
    address = settings.pop("bootstrap.servers")
    more = {name.replace(".", "_"): text for name, text in settings.items()}
    JAVA_3_9.produce(address, "in", "t", 0, [Message(key=None, value=VALUE)], "none", **more)
    [received, *_] = JAVA_3_9.consume(address, "out", [Span(topic="t", count=1)], **more)
    assert received.message.value == VALUE


Client = Callable[[Kafka, str, str], None]
CLIENTS = [
    by_confluent_kafka,
    by_kafka_python,
    by_aiokafka,
    by_our_producer,
    pytest.param(by_java, marks=pytest.mark.java),
]
clients = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)


@clients
@pytest.mark.parametrize("security", ["PLAINTEXT", *SECURED])
def test_each_client_comes_in(security: str, client: Client) -> None:
    with running(security=security, users=USERS) as broker:
        broker.create_topic("t")
        for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512") if "SASL" in security else ("",):
            client(broker, FIRST, mechanism)
        assert {record.value for record in broker.records("t")} == {VALUE}


@pytest.mark.parametrize("security", SECURED)
def test_a_cluster_has_the_same_users_at_each_broker(security: str) -> None:
    with running(security=security, brokers=3, config={"min.insync.replicas": 2}) as broker:
        broker.create_topic("t", 3)
        for each in range(3):
            broker.produce("t", VALUE, partition=each)
        broker.cluster.kill(leader_of="t")
        broker.clock.advance("10s")
        by_confluent_kafka(broker, FIRST, "")


def admitted(broker: Kafka, user: str) -> bool:
    """Whether a user may write."""
    failed: list[confluent_kafka.KafkaError] = []
    producer = confluent_kafka.Producer(broker.clients.confluent_kafka(user))
    producer.produce("t", b"x", on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(DEADLINE_S) == 0
    return not failed


@pytest.mark.parametrize("security", SECURED)
def test_access_rules_name_the_same_users_at_each_door(security: str) -> None:
    config = {**AUTHORIZER, "super.users": "User:alice"}
    with running(security=security, users=USERS, config=config) as broker:
        broker.create_topic("t")
        assert admitted(broker, "alice")
        assert not admitted(broker, "bob")
        assert [record.value for record in broker.records("t")] == [b"x"]
        if security == "SSL":
            assert not admitted(broker, "")


def test_clients_may_be_required_to_have_a_certificate() -> None:
    with running(security="SSL", config={"ssl.client.auth": "required"}) as broker:
        by_confluent_kafka(broker, "alice", "")
        nobody = confluent_kafka.Producer(broker.clients.confluent_kafka("") | {"message.timeout.ms": 1000})
        nobody.produce("t", b"from nobody")
        assert nobody.flush(DEADLINE_S) == 0
        assert [record.value for record in broker.records("t")] == [VALUE]


def test_the_mechanisms_may_be_fewer() -> None:
    with running(security="SASL_SSL", config={"sasl.enabled.mechanisms": "SCRAM-SHA-256"}) as broker:
        broker.create_topic("t")
        by_kafka_python(broker, "alice", "SCRAM-SHA-256")


def test_a_login_that_ends_is_renewed_by_a_new_connection() -> None:
    with running(security="SASL_SSL", config={"connections.max.reauth.ms": 1000}) as broker:
        broker.produce("t", b"one")
        broker.clock.advance("5s")
        broker.produce("t", b"two")
        broker.assert_produces("t", b"one", b"two")


def test_what_there_is_not_is_said() -> None:
    """A mechanism that there is not was given to clients, which waited for ever; the test's own user was offered."""
    with pytest.raises(ValueError, match="security is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, not 'TLS'"):
        running(security="TLS")
    with running(security="SASL_PLAINTEXT") as broker:
        with pytest.raises(KeyError, match=r"no user 'carol', but alice.$"):
            broker.clients.java("carol")
        for settings in (broker.clients.java, broker.clients.aiokafka, broker.clients.confluent_kafka):
            with pytest.raises(
                ValueError, match="mechanism is one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, not 'SCRAM'"
            ):
                settings("alice", "SCRAM")
        with pytest.raises(KafkaError, match="INVALID_TOPIC_EXCEPTION"):
            broker.create_topic("no spaces")


SUITE = """
import pytest
from confluent_kafka import Producer

pytestmark = pytest.mark.kafka(security="SASL_SSL", users={"carol": "a password"})

def fill(kafka):
    kafka.produce("orders", b"prepared")

def test_one(kafka):
    producer = Producer(kafka.clients.confluent_kafka("carol"))
    producer.produce("orders", "paid")
    assert producer.flush(20) == 0
    kafka.assert_produces("orders", "paid")
    with pytest.raises(KeyError):
        kafka.clients.kafka_python("alice")

@pytest.mark.kafka(brokers=3, data=fill)
def test_three(kafka):
    assert len(kafka.bootstrap.split(",")) == 3
    producer = Producer(kafka.clients.confluent_kafka())
    producer.produce("orders", "paid")
    assert producer.flush(20) == 0
    kafka.assert_produces("orders", "prepared", "paid")
"""


def test_the_marker_says_it_for_the_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    environment = os.environ | {"PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=DEADLINE_S)
    assert "2 passed" in done.stdout, done.stdout
