"""Clients of all kinds that write a record and read it back, each under a client id of its own.

`run` raises when that fails; `client_id` is what the server sees. Old packages run in a process of their own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .clients import Client, Message, Span
from .clients_go import go_clients
from .clients_java import JAVA_0_10_2, JAVA_3_9, OTHER_GENERATIONS
from .clients_python import PYTHON_CLIENTS
from .deadline import DEADLINE_S
from .old_packages import old_package

SCRIPTS = Path(__file__).parent
VALUE = "a value"

Run = Callable[[str, str], None]
"""Of an address and a topic."""


@dataclass(frozen=True, slots=True)
class Trial:
    """`works`: whether Kafka 4 answers it, as running it showed."""

    name: str
    run: Run
    client_id: str
    works: bool
    needs_java: bool = False

    @property
    def topic(self) -> str:
        """Of its own: each reads what it wrote."""
        return re.sub(r"[^\w.-]+", "-", self.name)


def _of_client(client: Client, *, works: bool, needs_java: bool) -> Trial:
    client_id = f"trial-{client.name}"

    def run(address: str, topic: str) -> None:
        client.produce(address, client_id, topic, 0, [Message(key=None, value=VALUE.encode())], "none")
        client.consume(address, client_id, [Span(topic=topic, count=1)])

    return Trial(client.name, run, client_id, works, needs_java)


def _of_package(requirement: str, script: str, settings: Mapping[str, object], *, works: bool) -> Trial:
    told = ",".join(map(str, settings.values()))
    client_id = f"trial-{requirement}-{told}"
    id_setting = "client.id" if script.startswith("librdkafka") else "client_id"
    servers = id_setting.replace("client", "bootstrap").replace("id", "servers")

    def run(address: str, topic: str) -> None:
        arguments = json.dumps({servers: address, id_setting: client_id, **settings})
        _finish(
            [sys.executable, "-P", str(SCRIPTS / script), topic, VALUE, arguments],
            {"PYTHONPATH": str(old_package(requirement))},
        )

    return Trial(client_id.removeprefix("trial-"), run, client_id, works)


def _of_go(library: str, client_id: str, *, works: bool, **environment: str) -> Trial:
    def run(address: str, topic: str) -> None:
        _finish([str(go_clients()), library, address, topic, "PLAINTEXT", "", "", "", ""], environment)

    return Trial("-".join([library, *environment.values()]), run, client_id, works)


def _finish(command: list[str], environment: Mapping[str, str]) -> None:
    """Raises RuntimeError when it ends with an error, or not in time."""
    try:
        subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, timeout=DEADLINE_S, check=True
        )
    except subprocess.CalledProcessError as fault:
        raise RuntimeError(fault.stderr[-2000:]) from fault
    except subprocess.TimeoutExpired as fault:
        raise RuntimeError(str(fault)) from fault


LEFT_BEHIND = (
    "kafka-python-at-0.8.2",
    "kafka-python-at-0.9",
    "kafka-python-at-0.10.1",
    "confluent-at-0.9",
    "scala-0.8.2.2",
    "java-0.9.0.1",
    "java-0.10.0.1",
    "java-0.10.1.1",
    "java-0.10.2.2",
)
"""Clients of the matrix that Kafka 4 does not answer."""
PYTHON_TRIALS = tuple(
    _of_client(client, works=client.name not in LEFT_BEHIND, needs_java=False) for client in PYTHON_CLIENTS
)
JAVA_TRIALS = tuple(
    _of_client(client, works=client.name not in LEFT_BEHIND, needs_java=True)
    for client in (JAVA_0_10_2, JAVA_3_9, *OTHER_GENERATIONS)
)
OTHER_TRIALS = (
    _of_package("kafka-python==1.4.7", "kafka_python_round_trip.py", {}, works=True),
    _of_package("kafka-python==1.4.7", "kafka_python_round_trip.py", {"api_version": [0, 10]}, works=False),
    _of_package("kafka-python==2.0.2", "kafka_python_round_trip.py", {}, works=True),
    _of_package("confluent-kafka==2.0.2", "librdkafka_round_trip.py", {}, works=True),
    _of_go("sarama", "sarama", works=True),
    _of_go("sarama", "sarama-at-0.10.2.0", works=False, SARAMA_VERSION="0.10.2.0"),
    _of_go("franz-go", "kgo", works=True),
)
