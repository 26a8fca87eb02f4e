"""`stepdown produce` and `stepdown consume` against Apache Kafka 3.9.1, and between it and stepdown."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.broker import Stepdown
from support.command import run_command
from support.kafka import ApacheKafka

pytestmark = pytest.mark.java

LINES = [
    {"key": "k", "value": "v", "timestamp": 1_700_000_000_000, "headers": [{"key": "h", "value": None}]},
    {"key": None, "value": "", "timestamp": -1, "headers": []},
    {"key": {"base64": "/wA="}, "value": None, "timestamp": 1_700_000_000_001, "headers": []},
]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with ApacheKafka(tmp_path_factory.mktemp("kafka")) as kafka:
        kafka.create_topic("t", partitions=2)
        yield kafka


def test_records_go_to_kafka_and_from_there_to_stepdown_unchanged(kafka: ApacheKafka, tmp_path: Path) -> None:
    given = "\n".join(json.dumps({"topic": "t", "partition": n % 2} | line) for n, line in enumerate(LINES))
    assert run_command("produce", "--json", "-b", kafka.address, stdin=given.encode()).exit_code == 0
    first = run_command("consume", "t", "-e", "--json", "-b", kafka.address)
    assert len(first.stdout.splitlines()) == len(LINES), first.stderr
    with Stepdown(tmp_path) as stepdown:
        stepdown.create_topic("t", partitions=2)
        ended = run_command("produce", "--json", "-b", stepdown.address, stdin=first.stdout_bytes)
        assert ended.exit_code == 0, ended.stderr
        second = run_command("consume", "t", "-e", "--json", "-b", stepdown.address)
    assert sorted(second.stdout.splitlines()) == sorted(first.stdout.splitlines())


@pytest.mark.parametrize("form", ["v0", "v1", "v2"])
@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "snappy"])
def test_kafka_understands_the_old_formats(kafka: ApacheKafka, form: str, codec: str) -> None:
    topic = f"{form}-{codec}"
    kafka.create_topic(topic)
    text = "".join(f"k{n}:{n}\n" for n in range(100)).encode()
    options = ("-K", ":", "--as", form, "-b", kafka.address)
    ended = run_command("produce", topic, "-z", codec, *options, stdin=text)
    assert ended.exit_code == 0, ended.stderr
    assert run_command("consume", topic, "-e", *options).stdout_bytes == text


def test_a_group_on_kafka_goes_on_where_it_was(kafka: ApacheKafka) -> None:
    kafka.create_topic("grouped", partitions=3)
    text = "".join(f"{n}\n" for n in range(30)).encode()
    assert run_command("produce", "grouped", "-b", kafka.address, stdin=text).exit_code == 0
    options = ("-g", "g", "--from-beginning", "-b", kafka.address)
    first = run_command("consume", "grouped", "-n", 7, *options)
    second = run_command("consume", "grouped", "-e", *options)
    assert (first.exit_code, second.exit_code) == (0, 0), first.stderr + second.stderr
    found = [int(number) for number in re.findall(r"\d+", first.stdout + second.stdout)]
    assert sorted(found) == list(range(30))
