"""stepdown, Kafka 3.9.1 and, below magic 2, Kafka 2.8.2 open converted directories; bytes are those of fetches."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from stepdown.pipeline.command import main
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import Codec
from support.broker import Stepdown
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.clients_raw import FetchAsk, Raw
from support.kafka import ApacheKafka, dump_log_segments, take_over
from support.kafka_old import OldKafka
from support.log_directories import keyed_records, write_topic
from support.samples import first_difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.java

COUNT = 80
FETCH_VERSION = {0: 1, 1: 2}
KEPT_FOR_EVER = {"log.retention.ms": "-1"}


def topic_of(magic: int, codec: Codec) -> str:
    return f"to-{magic}-{codec.name.lower()}"


def topics_of(magic: int) -> list[str]:
    return [topic_of(magic, codec) for codec in Codec]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's folder with two v2 segments of each codec for each magic they are to be converted to."""
    folder = tmp_path_factory.mktemp("source")
    for magic in (0, 1, 2):
        for codec in Codec:
            write_topic(folder / "data", topic_of(magic, codec), codec=codec, headers=True)
    return folder


@pytest.fixture(scope="module")
def converted(spark: "SparkSession", source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Servers' folders by magic; that of magic 2 was magic 1 on its way."""
    folders = {magic: tmp_path_factory.mktemp(f"magic-{magic}") for magic in (0, 1, 2)}
    for magic in (0, 1):
        convert(source / "data", folders[magic] / "data", magic)
    convert(source / "data", folders[2] / "down", 1, topics_of(2))
    convert(folders[2] / "down", folders[2] / "data", 2)
    return folders


def convert(source: Path, out: Path, magic: int, topics: Sequence[str] | None = None) -> None:
    chosen = ",".join(topics or topics_of(magic))
    words = ["convert", str(source), str(out), "--magic", str(magic), "--topics", chosen, "--verify"]
    assert main([*words, "--recompress", "lz4"]) == 0


def wanted(magic: int) -> list[Message]:
    """The records of each topic as they are after a conversion: headers do not come back."""
    return [
        Message(
            key=None if record.key is None else bytes(record.key),
            value=None if record.value is None else bytes(record.value),
            timestamp_ms=record.timestamp if magic else None,
        )
        for record in keyed_records(0, COUNT)
    ]


def read_back(address: str, magic: int) -> None:
    spans = [Span(topic=topic, count=COUNT) for topic in topics_of(magic)]
    received = JAVA_3_9.consume(address, "reader", spans)
    for topic in topics_of(magic):
        mine = [record for record in received if record.topic == topic]
        assert [record.offset for record in mine] == list(range(COUNT)), topic
        assert first_difference(wanted(magic), [record.message for record in mine]) is None, topic


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_stepdown_opens_it(converted: dict[int, Path], magic: int) -> None:
    with Stepdown(converted[magic], properties=KEPT_FOR_EVER) as broker:
        read_back(broker.address, magic)


@pytest.mark.parametrize("cleanly", [True, False], ids=["after a clean stop", "with recovery of every segment"])
def test_kafka_3_9_opens_it(converted: dict[int, Path], tmp_path: Path, cleanly: bool) -> None:
    kafka = ApacheKafka(tmp_path)
    with kafka:
        for magic in converted:
            for topic in topics_of(magic):
                kafka.create_topic(topic)
    for magic, folder in converted.items():
        take_over(kafka, folder / "data", [f"{topic}-0" for topic in topics_of(magic)], cleanly=cleanly)
    with kafka:
        for magic in converted:
            read_back(kafka.address, magic)


def test_kafka_2_8_opens_magic_0_and_1(converted: dict[int, Path], tmp_path: Path) -> None:
    kafka = OldKafka(tmp_path, "2.8.2")
    with kafka:
        for topic in [*topics_of(0), *topics_of(1)]:
            kafka.create_topic(topic)
    for magic in (0, 1):
        for topic in topics_of(magic):
            for path in (converted[magic] / "data" / f"{topic}-0").iterdir():
                shutil.copy(path, kafka.log_dir / f"{topic}-0")
    (kafka.log_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)
    with kafka:
        for magic in (0, 1):
            read_back(kafka.address, magic)


def test_dump_log_segments_finds_every_batch_valid(converted: dict[int, Path]) -> None:
    files = [path for folder in converted.values() for path in sorted((folder / "data").glob("*/*.log"))]
    shown = dump_log_segments(files, "--deep-iteration")
    assert "isvalid: true" in shown
    assert "isvalid: false" not in shown


@pytest.mark.parametrize("magic", FETCH_VERSION)
def test_the_bytes_are_what_the_broker_sends_an_old_client(
    source: Path, converted: dict[int, Path], magic: int
) -> None:
    codecs = [codec for codec in Codec if codec is not Codec.ZSTD]  # which old clients are refused
    with Stepdown(source, properties=KEPT_FOR_EVER) as broker, Raw(broker.address) as client:
        for topic in (topic_of(magic, codec) for codec in codecs):
            logs = sorted((converted[magic] / "data" / f"{topic}-0").glob("*.log"))
            assert sent(client, topic, FETCH_VERSION[magic]) == b"".join(log.read_bytes() for log in logs), topic


def sent(client: Raw, topic: str, version: int) -> bytes:
    """All whole messages that fetches from the first offset on are answered with."""
    found, offset = bytearray(), 0
    while offset < COUNT:
        answer = client.fetch(version, [FetchAsk(topic=topic, offset=offset)])[0]
        assert answer.error == 0
        batches = list(iter_batches(answer.records or b""))
        assert batches, "a fetch below the end is answered with something"
        for batch in batches:
            found += batch.data
        offset = batches[-1].last_offset + 1
    return bytes(found)
