"""The integration tests of kafka-python, librdkafka and franz-go, as their authors wrote them, through a gateway.

What passes against Kafka 4.4.0 itself passes through a gateway to it. kafka-python also speaks as clients of older
releases do, which Kafka 4.4.0 does not answer: Kafka 3.9.1 is the judge of those.
"""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.cluster_writers import bootstrap
from support.franz_go_suite import franz_go_suite, outcomes, run_kgo
from support.gateway_process import GatewayProcess
from support.kafka import ApacheKafka
from support.kafka_4 import LATEST, ApacheKafka4
from support.kafka_cluster import ApacheKafkaCluster
from support.kafka_python_suite import kafka_python_suite, run_tests
from support.librdkafka_suite import CLUSTER, librdkafka_suite, run_suite

pytestmark = [pytest.mark.java, pytest.mark.slow]

OLD_RELEASES = ("0.10.2.2", "1.1.1", "2.8.2")
FEWEST = 80
"""Tests of librdkafka that Kafka itself passes; 96 in November 2026 with Kafka 3.9.1's answers."""
CREATES = {"auto.create.topics.enable": "true"}
PROPERTIES = {
    **CREATES,
    "num.partitions": "4",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka4]:
    with ApacheKafka4(tmp_path_factory.mktemp("kafka"), release=LATEST, properties=PROPERTIES) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def old_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with ApacheKafka(tmp_path_factory.mktemp("old"), properties=PROPERTIES) as kafka:
        yield kafka


@pytest.fixture
def gateway(kafka: ApacheKafka4, tmp_path: Path) -> Iterator[GatewayProcess]:
    with GatewayProcess(tmp_path, kafka.address) as gateway:
        yield gateway


@pytest.mark.parametrize("release", [*OLD_RELEASES, "4.0.0"])
def test_kafka_python(
    kafka: ApacheKafka4, old_kafka: ApacheKafka, gateway: GatewayProcess, tmp_path: Path, release: str
) -> None:
    folder = kafka_python_suite(tmp_path)
    judge = old_kafka if release in OLD_RELEASES else kafka
    direct, through = (_run_kafka_python(folder, address, release) for address in (judge.address, gateway.address))
    assert len(direct) > 20
    assert direct - through == set()


def _run_kafka_python(folder: Path, address: str, release: str) -> set[str]:
    """The names of the tests that passed."""
    report = folder / "report.xml"
    names = ("admin", "consumer", "producer")
    done = run_tests(
        folder, names, release, "--show-capture=no", f"--junitxml={report}", KAFKA_URI=f"kafka://{address}"
    )
    print(done.stdout[-4000:])
    cases = ElementTree.parse(report).iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}" for case in cases if not len(case)}


def test_franz_go(kafka: ApacheKafka4, gateway: GatewayProcess, tmp_path: Path) -> None:
    folder = franz_go_suite(tmp_path)
    direct, through = (run_kgo(folder, address, records=5_000) for address in (kafka.address, gateway.address))
    passed = outcomes(direct, "PASS")
    assert {"TestGroupETL", "TestTxnEtl"} <= passed
    assert passed - outcomes(through, "PASS") == set(), through[-8000:]


@pytest.mark.parametrize("addresses", ["ports", "single"])
def test_librdkafka(tmp_path: Path, addresses: str) -> None:
    """With three nodes, as librdkafka's authors set Kafka up.

    Kafka 4.4.0 itself fails 0081_admin: it takes a setting of a group that 3.9.1 refuses with INVALID_REQUEST. It never
    answers 0052_msg_timestamps, which also speaks as clients of 0.9 do; the gateway does.
    """
    folder = librdkafka_suite()
    for name in ("direct", "through", "gateway"):
        (tmp_path / name).mkdir()
    with (
        ApacheKafkaCluster(tmp_path / "kafka", CLUSTER | CREATES, is_latest=True) as cluster,
        GatewayProcess(tmp_path / "gateway", bootstrap(cluster), addresses=addresses) as gateway,
    ):
        places = {"direct": bootstrap(cluster), "through": gateway.address}
        settings = {name: {"bootstrap.servers": address} for name, address in places.items()}
        direct, through = (
            run_suite(folder, each, each, tmp_path / name, hanging="0052") for name, each in settings.items()
        )
    assert "0103_transactions" in direct.passed and len(direct.passed) >= FEWEST, sorted(direct.failed)
    assert direct.passed - through.passed == set(), through.printed[-8000:]
    assert "0052_msg_timestamps" in through.passed - direct.passed, through.printed[-8000:]
