"""`stepdown configs` and `stepdown reassign` against Apache Kafka 3.9.1."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.clients_raw import wait_until
from support.command import run_command
from support.kafka import ApacheKafka

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with ApacheKafka(tmp_path_factory.mktemp("kafka")) as kafka:
        kafka.create_topic("t", partitions=2)
        yield kafka


def rows(kafka: ApacheKafka, *arguments: object, stdin: bytes = b"") -> Any:
    ended = run_command(*arguments, "--json", "-b", kafka.address, stdin=stdin)
    assert ended.exit_code == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize(
    ("entity", "name", "value"),
    [
        ("topic=t", "retention.ms", "1000"),
        ("broker", "log.cleaner.threads", "2"),
        ("user=a", "request_percentage", 5.0),
    ],
)
def test_a_setting_is_set_shown_and_deleted(kafka: ApacheKafka, entity: str, name: str, value: Any) -> None:
    def shown() -> list[tuple[str, Any]]:
        return [(row["name"], row["value"]) for row in rows(kafka, "configs", "describe", entity)]

    # Its controller acknowledges a change before its broker has applied it.
    assert not rows(kafka, "configs", "alter", entity, "-c", f"{name}={value}")["error"]
    wait_until(lambda: shown() == [(name, value)], "the setting is shown")
    assert not rows(kafka, "configs", "alter", entity, "-d", name)["error"]
    wait_until(lambda: shown() == [], "the setting is deleted")


def test_secrets_of_a_broker_have_no_value(kafka: ApacheKafka) -> None:
    (broker,) = rows(kafka, "cluster")["brokers"]
    every = rows(kafka, "configs", "describe", f"broker={broker['id']}", "--all")
    assert len(every) > 100
    assert {each["value"] for each in every if each["is_sensitive"]} == {None}


def test_what_kafka_refuses_is_said(kafka: ApacheKafka) -> None:
    ended = run_command("configs", "alter", "topic=t", "-c", "retention.ms=soon", "-b", kafka.address)
    assert (ended.exit_code, "INVALID_CONFIG" in ended.stderr) == (1, True), ended.stderr


def test_partitions_are_where_they_are(kafka: ApacheKafka) -> None:
    (broker,) = rows(kafka, "cluster")["brokers"]
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 1, "replicas": [broker["id"]]}]}
    text = json.dumps(plan).encode()
    assert rows(kafka, "reassign", "execute", "-", stdin=text) == [{"partition": "t-1", "error": "", "message": ""}]
    wait_until(
        lambda: [row["state"] for row in rows(kafka, "reassign", "verify", "-", stdin=text)] == ["complete"],
        "the partition is where it was planned",
    )
    assert rows(kafka, "reassign", "list") == []
    assert rows(kafka, "reassign", "cancel") == []
