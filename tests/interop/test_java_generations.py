"""Java and Scala clients of every generation from 0.8 to 4: what they write others read, and the reverse.

The matrix of test_real_clients.py has the two that the specification names; these are the ones between and around.
"""

import pytest
from support.broker import BrokerProcess
from support.clients import Client, Span
from support.clients_java import JAVA_3_9, OTHER_GENERATIONS, SCALA_0_8_2, JavaClient
from support.clients_python import PYTHON_CLIENTS
from support.clients_raw import API_FETCH, API_METADATA, API_PRODUCE
from support.proxy import RecordingProxy
from support.samples import first_difference, many, written_by

pytestmark = pytest.mark.java

CORE: tuple[Client, ...] = (JAVA_3_9, *PYTHON_CLIENTS)
generations = pytest.mark.parametrize("client", [pytest.param(client, id=client.name) for client in OTHER_GENERATIONS])


def write(broker: BrokerProcess, proxy: RecordingProxy, client: Client, topic: str) -> None:
    broker.create_topic(topic, partitions=len(client.codecs))
    for partition, codec in enumerate(client.codecs):
        client.produce(proxy.address, f"write-{client.name}", topic, partition, written_by(client), codec)


def read(proxy: RecordingProxy, reader: Client, writer: Client, topic: str) -> None:
    wanted = [message.at_magic(reader.read_magic) for message in written_by(writer)]
    readable = [p for p, codec in enumerate(writer.codecs) if codec in reader.codecs]
    spans = [Span(topic=topic, partition=partition, count=len(wanted)) for partition in readable]

    received = reader.consume(proxy.address, f"read-{reader.name}", spans)

    for partition in readable:
        mine = [record for record in received if record.partition == partition]
        assert [record.offset for record in mine] == list(range(len(wanted)))
        assert first_difference(wanted, [record.message for record in mine]) is None, writer.codecs[partition]


@generations
def test_what_it_writes_all_read(broker: BrokerProcess, proxy: RecordingProxy, client: JavaClient) -> None:
    topic = f"by-{client.name}"
    write(broker, proxy, client, topic)
    for reader in (client, *CORE):
        read(proxy, reader, client, topic)


@generations
@pytest.mark.parametrize("writer", [pytest.param(writer, id=writer.name) for writer in CORE])
def test_it_reads_what_others_write(
    broker: BrokerProcess, proxy: RecordingProxy, client: JavaClient, writer: Client
) -> None:
    topic = f"core-{writer.name}"
    if broker_has_not(broker, topic):
        write(broker, proxy, writer, topic)
    read(proxy, client, writer, topic)


@generations
@pytest.mark.parametrize("max_bytes", [1 << 20, 60_000], ids=["1 MiB fetches", "60 kB fetches"])
def test_it_reads_a_log_of_many_chunks_whole(
    broker: BrokerProcess, proxy: RecordingProxy, client: JavaClient, max_bytes: int
) -> None:
    messages = many(3000, 1000)
    if broker_has_not(broker, "bulk"):
        broker.create_topic("bulk", partitions=3)
        for partition, codec in enumerate(("none", "gzip", "lz4")):
            JAVA_3_9.produce(proxy.address, "write-bulk", "bulk", partition, messages, codec)
    wanted = [message.at_magic(client.read_magic) for message in messages]
    spans = [Span(topic="bulk", partition=partition, count=len(messages)) for partition in range(3)]

    received = client.consume(proxy.address, f"bulk-{client.name}", spans, max_bytes=max_bytes)

    for partition in range(3):
        mine = [record for record in received if record.partition == partition]
        assert [record.offset for record in mine] == list(range(len(messages)))
        assert first_difference(wanted, [record.message for record in mine]) is None


@generations
def test_it_sends_the_versions_of_its_time(broker: BrokerProcess, proxy: RecordingProxy, client: JavaClient) -> None:
    topic, client_id = f"versions-{client.name}", f"versions-{client.name}"
    broker.create_topic(topic)
    client.produce(proxy.address, client_id, topic, 0, written_by(client)[:3], "none")
    client.consume(proxy.address, client_id, [Span(topic=topic, count=3)])

    fetches = proxy.versions(client_id, API_FETCH)
    assert len(fetches) == 1 and fetches <= client.fetch_versions
    (produced,) = proxy.versions(client_id, API_PRODUCE)
    assert {0: 0, 1: 0, 2: 1}.get(produced, 2) == client.write_magic
    if client is SCALA_0_8_2:
        assert proxy.versions(client_id, API_METADATA) == {0}


def broker_has_not(broker: BrokerProcess, topic: str) -> bool:
    return not (broker.log_dir / f"{topic}-0").exists()
