"""Clients of all kinds that write a record and read it back, each under a client id of its own.

`run` raises when that fails; `client_id` is what the server sees. Old packages run in a process of their own.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from .clients import Client, Message, Span
from .clients_go import go_clients
from .clients_java import JAVA_0_10_2, JAVA_3_9, MORE_GENERATIONS, OTHER_GENERATIONS
from .clients_python import CONFLUENT, KAFKA_PYTHON, PYTHON_CLIENTS
from .deadline import DEADLINE_S
from .old_packages import node_package, old_package

SCRIPTS = Path(__file__).parent
VALUE = "a value"
VALUE_OF_GO = "x" * 50_000
AT_ONCE = 12
"""Most wait: a client that is not answered tries again until its time is over."""

Run = Callable[[str, str], None]
"""Of an address and a topic."""


@dataclass(frozen=True, slots=True)
class Trial:
    """`works`: whether Kafka 4 answers it, as running it showed. `value`: of the record."""

    name: str
    run: Run
    client_id: str
    works: bool
    value: str = VALUE

    @property
    def topic(self) -> str:
        """Of its own: each reads what it wrote."""
        return re.sub(r"[^\w.-]+", "-", self.name)


def _client_id(name: str) -> str:
    """Kafka 0.10.2 makes part of the name of an MBean of it, and fails where it has other characters."""
    return "trial-" + re.sub(r"[^\w.-]+", "-", name)


def _of_client(client: Client, *, works: bool) -> Trial:
    client_id = _client_id(client.name)

    def run(address: str, topic: str) -> None:
        client.produce(address, client_id, topic, 0, [Message(key=None, value=VALUE.encode())], "none")
        client.consume(address, client_id, [Span(topic=topic, count=1)])

    return Trial(client.name, run, client_id, works)


def _of_package(requirement: str, script: str, settings: Mapping[str, object], *, works: bool) -> Trial:
    told = ",".join(map(str, settings.values()))
    name = f"{requirement}-{told}"
    client_id = _client_id(name)
    id_setting = "client.id" if script.startswith("librdkafka") else "client_id"
    servers = id_setting.replace("client", "bootstrap").replace("id", "servers")

    def run(address: str, topic: str) -> None:
        arguments = json.dumps({servers: address, id_setting: client_id, **settings})
        _finish(
            [sys.executable, "-P", str(SCRIPTS / script), topic, VALUE, arguments],
            {"PYTHONPATH": str(old_package(requirement))},
        )

    return Trial(name, run, client_id, works)


def _of_node(requirement: str, *, works: bool) -> Trial:
    library, _, _ = requirement.partition("@")
    script = SCRIPTS / "javascript" / f"{library.replace('-', '_')}_round_trip.js"
    client_id = _client_id(requirement)

    def run(address: str, topic: str) -> None:
        _finish(["node", str(script), topic, VALUE, address, client_id], {"NODE_PATH": str(node_package(requirement))})

    return Trial(client_id.removeprefix("trial-"), run, client_id, works)


def _of_go(library: str, client_id: str, *, works: bool, **environment: str) -> Trial:
    def run(address: str, topic: str) -> None:
        _finish([str(go_clients()), library, address, topic, "PLAINTEXT", "", "", "", ""], environment)

    return Trial("-".join([library, *environment.values()]), run, client_id, works, VALUE_OF_GO)


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


def find_faults(address: str, topics: Mapping[Trial, str]) -> dict[Trial, Exception | None]:
    """What each trial ends with on its topic, None where it comes to its end."""

    def find_fault(trial: Trial) -> Exception | None:
        try:
            trial.run(address, topics[trial])
        except Exception as fault:  # each library has its own
            return fault
        return None

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(topics, pool.map(find_fault, topics), strict=True))


def find_differences(address: str, trials: Iterable[Trial]) -> list[str]:
    """The trials that end otherwise with the broker there than is said of them."""
    faults = find_faults(address, {trial: trial.topic for trial in trials})
    return [f"{trial.name}: {fault or 'it works'}" for trial, fault in faults.items() if trial.works != (fault is None)]


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
PYTHON_TRIALS = tuple(_of_client(client, works=client.name not in LEFT_BEHIND) for client in PYTHON_CLIENTS)
JAVA_TRIALS = tuple(
    _of_client(client, works=client.name not in LEFT_BEHIND) for client in (JAVA_0_10_2, JAVA_3_9, *OTHER_GENERATIONS)
)
OF_KAFKA_PYTHON, OF_AIOKAFKA, OF_LIBRDKAFKA = (
    f"{library}_round_trip.py" for library in ("kafka_python", "aiokafka", "librdkafka")
)
TOLD_A_VERSION = (
    *(
        _of_client(replace(KAFKA_PYTHON, name=f"kafka-python-at-{name}", api_version=version), works=works)
        for name, version, works in (("0.10", (0, 10), False), ("0.10.2", (0, 10, 2), False), ("0.11", (0, 11), True))
    ),
    _of_client(replace(CONFLUENT, name="confluent-at-0.8.2", fallback="0.8.2.2"), works=False),
    *(
        _of_package("kafka-python==1.4.7", OF_KAFKA_PYTHON, {"api_version": version}, works=version >= [0, 11, 0])
        for version in ([0, 8, 2], [0, 9], [0, 10], [0, 10, 1], [0, 11], [0, 11, 0], [1, 0])
    ),
    *(
        _of_package("kafka-python==2.0.2", OF_KAFKA_PYTHON, {"api_version": version}, works=version >= [0, 11, 0])
        for version in ([0, 9], [0, 10], [0, 10, 2], [0, 11], [0, 11, 0], [1, 0])
    ),
    *(
        _of_package("aiokafka==0.10.0", OF_AIOKAFKA, {"api_version": version}, works=version == "0.11")
        for version in ("0.9", "0.10", "0.11")
    ),
    *(
        _of_package(
            "confluent-kafka==2.0.2",
            OF_LIBRDKAFKA,
            {"api.version.request": "false", "broker.version.fallback": version},
            works=version == "0.10.0.0",  # of which it knows that it may be asked for versions
        )
        for version in ("0.8.2.2", "0.9.0.1", "0.10.0.0")
    ),
    *(
        _of_go("sarama", f"sarama-at-{version}", works=works, SARAMA_VERSION=version)
        for works, versions in (
            (False, ("0.8.2.0", "0.9.0.0", "0.10.0.0", "0.10.1.0", "0.10.2.0")),
            (True, ("0.11.0.0", "1.0.0", "1.1.0", "2.0.0", "2.8.0", "4.0.0")),
        )
        for version in versions
    ),
    *(
        _of_go("franz-go", f"kgo-at-{version}", works=works, FRANZ_GO_VERSION=version)
        for works, versions in (
            (False, ("0.8.2", "0.9.0", "0.10.0", "0.10.1", "0.10.2")),
            (True, ("0.11.0", "1.0", "1.1", "2.0", "2.8", "3.9")),
        )
        for version in versions
    ),
)
"""They are told which Kafka they speak to."""
OTHER_TRIALS = (
    _of_package("kafka-python==1.4.7", OF_KAFKA_PYTHON, {}, works=True),
    _of_package("kafka-python==2.0.2", OF_KAFKA_PYTHON, {}, works=True),
    _of_package("aiokafka==0.10.0", OF_AIOKAFKA, {}, works=True),
    *(
        _of_package(f"confluent-kafka=={version}", OF_LIBRDKAFKA, {}, works=True)
        for version in ("2.0.2", "2.3.0", "2.6.1")
    ),
    _of_go("sarama", "sarama", works=True),
    _of_go("franz-go", "kgo", works=True),
    *(_of_node(f"kafka-node@{version}", works=False) for version in ("4.1.3", "5.0.0")),
    *(_of_node(f"kafkajs@{version}", works=True) for version in ("1.16.0", "2.2.4")),
    *TOLD_A_VERSION,
)
MORE_JAVA_TRIALS = tuple(_of_client(client, works=True) for client in MORE_GENERATIONS)
TRIALS = (*PYTHON_TRIALS, *JAVA_TRIALS, *OTHER_TRIALS, *MORE_JAVA_TRIALS)
