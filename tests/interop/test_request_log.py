"""`stepdown clients --from-request-log` reads what real brokers log, at DEBUG and at TRACE."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stepdown.bench.servers.kafka import KafkaServer
from stepdown.cli.clients.request_log import RequestLog
from support.clients import Message, Span
from support.clients_python import PYTHON_CLIENTS
from support.command import run_command
from support.kafka import ApacheKafka
from support.kafka_old import OldKafka

pytestmark = pytest.mark.java

CLIENTS = {client.name: client for client in PYTHON_CLIENTS}
VERDICTS = {"kafka-python-at-0.9": "no", "kafka-python": "yes", "confluent": "yes"}


class Logging:
    """A broker that logs its requests to what it prints."""

    level = ""

    def _options(self) -> list[str]:
        options: list[str] = super()._options()  # type: ignore[misc]
        return [*options, f"-Dorg.slf4j.simpleLogger.log.kafka.request.logger={self.level}"]


class OldLogging(Logging, OldKafka):
    level = "debug"


class NewLogging(Logging, ApacheKafka):
    level = "trace"


BROKERS: dict[str, Callable[[Path], OldKafka | ApacheKafka]] = {
    "2.8.2": lambda folder: OldLogging(folder, "2.8.2"),
    "3.9.1": NewLogging,
}


def logged(kafka: KafkaServer) -> Path:
    return kafka.folder / "kafka.out"


@pytest.mark.parametrize("release", BROKERS)
def test_what_a_broker_logs_tells_who_will_not_be_answered(release: str, tmp_path: Path) -> None:
    with BROKERS[release](tmp_path) as kafka:
        kafka.create_topic("t")
        for name in VERDICTS:
            client = CLIENTS[name]
            client.produce(kafka.address, name, "t", 0, [Message(key=None, value=b"x")], "none")
            client.consume(kafka.address, name, [Span(topic="t", count=1)])

    log = RequestLog()
    with logged(kafka).open("rb") as file:
        log.read(file)
    assert log.unreadable == 0, log.examples
    assert log.requests_of_brokers
    done = run_command("clients", "--from-request-log", logged(kafka), "--json")
    found = {row["client_id"]: row for row in json.loads(done.stdout)["clients"] if row["client_id"] in VERDICTS}
    assert {name: row["kafka_4"]["4.4"] for name, row in found.items()} == VERDICTS
    assert found["kafka-python-at-0.9"]["requests"]["Fetch"].keys() == {"1"}
    assert found["kafka-python"]["software"] == "kafka-python"
