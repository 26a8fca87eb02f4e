"""Real clients through each secured listener: TLS, PLAIN and both SCRAM mechanisms."""

import asyncio
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiokafka
import pytest
from stepdown.broker.broker import Broker
from stepdown.producer import AuthenticationFailed, Producer
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support import kafka_python_round_trip, librdkafka_round_trip
from support.certificates import Authority
from support.client import RawClient
from support.clients import Message, Span
from support.clients_go import go_clients
from support.clients_java import JAVA_0_10_2, JAVA_3_9, OTHER_GENERATIONS, JavaClient
from support.deadline import DEADLINE_S
from support.kafka_old import REMOVED_FROM_JAVA
from support.old_packages import old_package
from support.secure import PASSWORD, USER, secure_broker, secure_settings

VALUE = b"x" * 50_000
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def broker(tmp_path: Path, authority: Authority) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(authority)) as broker:
        yield broker


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_our_producer_logs_in(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> None:
    settings = {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.truststore.location": str(authority.file),
    }
    address = str(broker.addresses[protocol])
    async with Producer(address, **settings) as producer:
        assert (await producer.send("t", b"x" * 100_000, partition=0)).offset == 0
    async with Producer(address, **settings | {"sasl.password": "wrong"}) as producer:
        with pytest.raises(AuthenticationFailed):
            await producer.send("t", b"x")


DOORS = [("SSL", "")] + [(protocol, each) for protocol in ("SASL_PLAINTEXT", "SASL_SSL") for each in MECHANISMS]
doors = pytest.mark.parametrize(("protocol", "mechanism"), DOORS, ids=lambda part: part or "-")


@doors
async def test_librdkafka_comes_in(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> None:
    settings: dict[str, object] = {
        "bootstrap.servers": str(broker.addresses[protocol]),
        "security.protocol": protocol,
        "ssl.ca.location": str(authority.file),
    }
    if mechanism:
        settings |= {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": PASSWORD}

    await asyncio.to_thread(librdkafka_round_trip.round_trip, "t", VALUE, settings)


def kafka_python_settings(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap_servers": str(broker.addresses[protocol]),
        "security_protocol": protocol,
        "ssl_cafile": str(authority.file),
    }
    if mechanism:
        settings |= {"sasl_mechanism": mechanism, "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
    return settings


@doors
async def test_kafka_python_comes_in(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> None:
    settings = kafka_python_settings(broker, authority, protocol, mechanism)
    await asyncio.to_thread(kafka_python_round_trip.round_trip, "t", VALUE, settings)


@doors
async def test_aiokafka_comes_in(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> None:
    settings: dict[str, object] = {
        "bootstrap_servers": str(broker.addresses[protocol]),
        "security_protocol": protocol,
        "ssl_context": ssl.create_default_context(cafile=str(authority.file)),
    }
    if mechanism:
        settings |= {"sasl_mechanism": mechanism, "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
    async with aiokafka.AIOKafkaProducer(**settings) as producer:
        await producer.send_and_wait("t", VALUE)
    async with aiokafka.AIOKafkaConsumer("t", auto_offset_reset="earliest", **settings) as consumer:
        assert (await consumer.getone()).value == VALUE


@doors
@pytest.mark.slow
@pytest.mark.parametrize("client", ["sarama", "franz-go"])
async def test_go_comes_in(broker: Broker, authority: Authority, client: str, protocol: str, mechanism: str) -> None:
    program = await asyncio.to_thread(go_clients)
    arguments = [str(broker.addresses[protocol]), "t", protocol, mechanism, USER, PASSWORD, str(authority.file)]
    done = await asyncio.to_thread(
        subprocess.run, [program, client, *arguments], capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 0, done.stderr


@doors
async def test_librdkafka_of_2023_comes_in(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> None:
    """2.0.2, which Debian 12 has. Before 2.6.1 its SCRAM is not that of the standard."""
    settings = {"bootstrap.servers": str(broker.addresses[protocol]), "security.protocol": protocol}
    settings["ssl.ca.location"] = str(authority.file)
    if mechanism:
        settings |= {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": PASSWORD}
    await comes_in("confluent-kafka==2.0.2", "librdkafka_round_trip.py", settings)


async def comes_in(requirement: str, script: str, settings: dict[str, object] | dict[str, str]) -> None:
    """An old package writes and reads, in a process of its own."""
    package = await asyncio.to_thread(old_package, requirement)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-P", Path(__file__).parents[1] / "support" / script, "t", VALUE, json.dumps(settings)],
        env=os.environ | {"PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("protocol", "mechanism"), [each for each in DOORS if "SCRAM" not in each[1]])
async def test_kafka_python_1_4_comes_in(broker: Broker, authority: Authority, protocol: str, mechanism: str) -> None:
    """It has no SCRAM."""
    settings = kafka_python_settings(broker, authority, protocol, mechanism)
    await comes_in("kafka-python==1.4.7", "kafka_python_round_trip.py", settings)


OTHER_JAVA = [client for client in OTHER_GENERATIONS if client.name in ("java-0.9.0.1", "java-1.1.1", "java-4.4.0")]
MECHANISMS_OF = {"java-0.9.0.1": ()}
"""It has Kerberos alone."""
WITH_SCRAM = replace(JAVA_0_10_2, also=(REMOVED_FROM_JAVA,))


@pytest.mark.java
@pytest.mark.parametrize(
    "client",
    [WITH_SCRAM, JAVA_3_9, *(pytest.param(client, marks=pytest.mark.slow) for client in OTHER_JAVA)],
    ids=lambda client: client.name,
)
async def test_java_comes_in(broker: Broker, authority: Authority, client: JavaClient, tmp_path: Path) -> None:
    """Through each listener, by each mechanism that it has."""
    store = java_truststore(authority, tmp_path)
    for number, (protocol, mechanism) in enumerate(DOORS):
        if mechanism and mechanism not in MECHANISMS_OF.get(client.name, MECHANISMS):
            continue
        settings = {"security_protocol": protocol}
        if protocol.endswith("SSL"):
            settings |= {
                "ssl_truststore_location": str(store),
                "ssl_truststore_password": "password",
                "ssl_truststore_type": "JKS",
                "ssl_endpoint_identification_algorithm": "",
            }
        if mechanism:
            module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
            login = f'org.apache.kafka.common.security.{module} required username="{USER}" password="{PASSWORD}";'
            settings |= {"sasl_mechanism": mechanism, "sasl_jaas_config": login}
        address, topic = str(broker.addresses[protocol]), f"java-{number}"
        async with await RawClient.connect("127.0.0.1", broker.address.port) as raw:
            await raw.send(MetadataRequest(topics=(MetadataRequestTopic(name=topic),)), 4)

        def round_trip(address: str = address, topic: str = topic, settings: dict[str, str] = settings) -> bytes | None:
            client.produce(address, "in", topic, 0, [Message(key=b"k", value=VALUE)], "none", **settings)
            [received] = client.consume(address, "out", [Span(topic=topic, count=1)], **settings)
            return received.message.value

        assert await asyncio.to_thread(round_trip) == VALUE, (protocol, mechanism)


def java_truststore(authority: Authority, folder: Path) -> Path:
    """A JKS file, which Java's clients of all ages read."""
    store = folder / "trust.jks"
    options = ["-storetype", "JKS", "-storepass", "password", "-noprompt", "-alias", "authority"]
    command = ["keytool", "-importcert", "-keystore", str(store), "-file", str(authority.file), *options]
    subprocess.run(command, check=True, capture_output=True)
    return store
