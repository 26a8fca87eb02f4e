"""Each client setup writes and reads through a gateway to Kafka 4.4.0, and the report judges it as Kafka 4 does.

`client_trials.py` has them and says of each whether Kafka 4 itself answers it, which `test_client_verdicts.py` proves.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.client_trials import TRIALS, find_faults
from support.clients import Span
from support.clients_go import require_go
from support.clients_python import AIOKAFKA
from support.gateway_process import GatewayProcess
from support.kafka_4 import LATEST, ApacheKafka4
from support.old_packages import require_node

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka4]:
    require_go()
    require_node()
    with ApacheKafka4(tmp_path_factory.mktemp("kafka"), release=LATEST) as kafka:
        yield kafka


@pytest.mark.parametrize("addresses", ["ports", "single"])
def test_each_client_writes_and_reads_and_is_judged_right(kafka: ApacheKafka4, tmp_path: Path, addresses: str) -> None:
    topics = {trial: f"{addresses}-{trial.topic}" for trial in TRIALS}
    for topic in topics.values():
        kafka.create_topic(topic)
    with GatewayProcess(tmp_path, kafka.address, addresses=addresses) as gateway:
        faults = find_faults(gateway.address, topics)
        rows = gateway.read_clients()
    assert {trial.name: fault for trial, fault in faults.items() if fault is not None} == {}
    for trial, topic in topics.items():
        (record,) = AIOKAFKA.consume(kafka.address, "check", [Span(topic=topic, count=1)])
        assert record.message.value == trial.value.encode(), trial.name
    for trial in TRIALS:
        told = {word for row in rows if row["client_id"] == trial.client_id for word in row["kafka_4"].values()}
        assert told == {"yes" if trial.works else "no"}, trial.name
