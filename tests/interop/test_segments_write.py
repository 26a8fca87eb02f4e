"""What the sink `kafka-segments` writes into logs of new topics, stepdown and Kafka 3.9.1 serve, in all formats."""

from pathlib import Path

import pytest
from stepdown.protocol.records.layout import Codec
from support.arrow_rows import rows, write, writer
from support.broker import BrokerProcess, Stepdown
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.kafka import ApacheKafka, dump_log_segments
from support.log_directories import keyed_records
from support.samples import first_difference

pytestmark = pytest.mark.java

FIRST, COUNT = 7, 60
MAGICS_AND_CODECS = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec is not Codec.ZSTD]
NAMES = "topic partition offset timestamp key value"


def topic_of(magic: int, codec: Codec) -> str:
    return f"written-{magic}-{codec.name.lower()}"


def write_all(log_dir: Path) -> None:
    """Keys, values, times and, in magic 2, headers; in several segments, from offset 7 on."""
    for magic, codec in MAGICS_AND_CODECS:
        topic = topic_of(magic, codec)
        names = NAMES + (" headers" if magic == 2 else "")
        records = rows(
            *(
                (topic, 0, record.offset, record.timestamp * 1000, record.key, record.value)
                + (([{"key": name, "value": value} for name, value in record.headers],) if magic == 2 else ())
                for record in keyed_records(FIRST, COUNT, value_bytes=300, headers=True)
            ),
            names=names,
        )
        options = {"magic": str(magic), "codec": codec.name.lower(), "batchBytes": "2k", "segmentBytes": "10k"}
        write(writer(log_dir, **options), [records])


def wanted(magic: int) -> list[Message]:
    return [
        Message(
            key=None if record.key is None else bytes(record.key),
            value=None if record.value is None else bytes(record.value),
            headers=record.headers,
            timestamp_ms=record.timestamp,
        ).at_magic(magic)
        for record in keyed_records(FIRST, COUNT, value_bytes=300, headers=True)
    ]


@pytest.mark.parametrize("kind", [Stepdown, ApacheKafka], ids=["stepdown", "Kafka 3.9.1"])
@pytest.mark.parametrize("cleanly", [True, False], ids=["after a clean stop", "with recovery of every segment"])
def test_new_topics_of_a_stopped_broker_are_filled(
    kind: type[Stepdown] | type[ApacheKafka], cleanly: bool, tmp_path: Path
) -> None:
    broker: BrokerProcess = kind(tmp_path, properties={"log.retention.ms": "-1"})
    topics = {topic_of(magic, codec): magic for magic, codec in MAGICS_AND_CODECS}
    broker.start()
    for topic in topics:
        broker.create_topic(topic)
    broker.stop()
    write_all(broker.log_dir)
    if not cleanly:
        (broker.log_dir / ".kafka_cleanshutdown").unlink()
    broker.start()
    received = JAVA_3_9.consume(
        broker.address, "reader", [Span(topic=topic, offset=FIRST, count=COUNT) for topic in topics]
    )
    broker.stop()
    for topic, magic in topics.items():
        mine = [record for record in received if record.topic == topic]
        assert [record.offset for record in mine] == list(range(FIRST, FIRST + COUNT)), topic
        assert first_difference(wanted(magic), [record.message for record in mine]) is None, topic


def test_kafkas_dump_tool_finds_every_batch_valid_and_the_indexes_true(tmp_path: Path) -> None:
    write_all(tmp_path)
    shown = dump_log_segments(sorted(tmp_path.glob("*/*.log")), "--deep-iteration")
    assert "isvalid: true" in shown
    assert "isvalid: false" not in shown
    indexes = sorted(tmp_path.glob("*/*index"))
    assert len(indexes) > 2 * len(MAGICS_AND_CODECS)
    assert any(index.stat().st_size > 8 for index in indexes)
    checked = dump_log_segments(indexes, "--index-sanity-check")
    assert checked.count("passed sanity check") + checked.count("is empty") == len(indexes)
