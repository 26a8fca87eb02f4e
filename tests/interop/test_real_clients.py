"""What one client writes, all read back: every library in every generation, with every codec it knows."""

from collections.abc import Callable
from functools import cache

import pytest
from support.broker import BrokerProcess
from support.clients import Client, Message, Span
from support.clients_java import JAVA_0_10_2, JAVA_3_9
from support.clients_python import AIOKAFKA, PYTHON_CLIENTS
from support.clients_raw import API_FETCH, API_PRODUCE
from support.proxy import RecordingProxy
from support.samples import first_difference, many, written_by

JAVA_CLIENTS = (JAVA_0_10_2, JAVA_3_9)
CLIENTS: tuple[Client, ...] = (*JAVA_CLIENTS, *PYTHON_CLIENTS)
BULK = "bulk"
BULK_RECORDS, BULK_BYTES = 3000, 1000


def _parameters() -> list[object]:
    marks = {True: [pytest.mark.java], False: []}
    return [pytest.param(c, id=c.name, marks=marks[c in JAVA_CLIENTS]) for c in CLIENTS]


@pytest.fixture(scope="module")
def topic_of(broker: BrokerProcess, proxy: RecordingProxy) -> Callable[[Client], str]:
    """Return `topic_of(writer)`: a topic with a partition for each codec of the writer, each with all samples."""

    @cache
    def written(writer: Client) -> str:
        topic = f"by-{writer.name}"
        broker.create_topic(topic, partitions=len(writer.codecs))
        for partition, codec in enumerate(writer.codecs):
            client_id = f"write-{writer.name}"
            writer.produce(proxy.address, client_id, topic, partition, written_by(writer), codec)
        return topic

    return written


@pytest.fixture(scope="module")
def bulk(broker: BrokerProcess, proxy: RecordingProxy) -> list[Message]:
    """The records of topic `bulk` in batches of 16 kB, many chunks in each of its partitions: plain, gzip and lz4."""
    messages = many(BULK_RECORDS, BULK_BYTES)
    broker.create_topic(BULK, partitions=3)
    for partition, codec in enumerate(("none", "gzip", "lz4")):
        AIOKAFKA.produce(proxy.address, "write-bulk", BULK, partition, messages, codec)
    return messages


@pytest.mark.parametrize("writer", _parameters())
@pytest.mark.parametrize("reader", _parameters())
def test_what_one_client_writes_another_reads(
    reader: Client, writer: Client, topic_of: Callable[[Client], str], proxy: RecordingProxy
) -> None:
    topic = topic_of(writer)
    wanted = [message.at_magic(reader.read_magic) for message in written_by(writer)]
    readable = [p for p, codec in enumerate(writer.codecs) if codec != "zstd" or reader.read_magic >= 2]
    spans = [Span(topic=topic, partition=partition, count=len(wanted)) for partition in readable]

    received = reader.consume(proxy.address, f"read-{reader.name}", spans)

    for partition in readable:
        mine = [record for record in received if record.partition == partition]
        assert [record.offset for record in mine] == list(range(len(wanted)))
        assert first_difference(wanted, [record.message for record in mine]) is None, writer.codecs[partition]


@pytest.mark.parametrize("reader", _parameters())
@pytest.mark.parametrize("max_bytes", [1 << 20, 60_000], ids=["1 MiB fetches", "60 kB fetches"])
def test_a_log_of_many_chunks_is_read_whole(
    reader: Client, max_bytes: int, bulk: list[Message], proxy: RecordingProxy
) -> None:
    wanted = [message.at_magic(reader.read_magic) for message in bulk]
    spans = [Span(topic=BULK, partition=partition, count=len(bulk)) for partition in range(3)]

    received = reader.consume(proxy.address, f"read-{reader.name}", spans, max_bytes=max_bytes)

    for partition in range(3):
        mine = [record for record in received if record.partition == partition]
        assert [record.offset for record in mine] == list(range(len(bulk)))
        assert first_difference(wanted, [record.message for record in mine]) is None


@pytest.mark.parametrize("reader", _parameters())
def test_reading_may_start_in_the_middle_of_a_batch(reader: Client, bulk: list[Message], proxy: RecordingProxy) -> None:
    start, count = 1234, 20
    spans = [Span(topic=BULK, partition=partition, offset=start, count=count) for partition in range(3)]

    received = reader.consume(proxy.address, f"read-{reader.name}", spans)

    wanted = [message.at_magic(reader.read_magic) for message in bulk[start : start + count]]
    for partition in range(3):
        mine = [record for record in received if record.partition == partition][:count]
        assert [record.offset for record in mine] == list(range(start, start + count))
        assert first_difference(wanted, [record.message for record in mine]) is None


@pytest.mark.parametrize("client", _parameters())
def test_each_client_sends_the_versions_it_is_here_for(
    client: Client, topic_of: Callable[[Client], str], proxy: RecordingProxy
) -> None:
    client_id = f"versions-{client.name}"
    topic = topic_of(client)
    client.produce(proxy.address, client_id, topic, 0, written_by(client)[:3], "none")
    client.consume(proxy.address, client_id, [Span(topic=topic, count=1)])

    fetches = proxy.versions(client_id, API_FETCH)
    assert len(fetches) == 1 and fetches <= client.fetch_versions
    (produced,) = proxy.versions(client_id, API_PRODUCE)
    assert {0: 0, 1: 0, 2: 1}.get(produced, 2) == client.write_magic
