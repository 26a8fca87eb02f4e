"""The integration tests of franz-go, librdkafka and kafka-python, as their authors wrote them, against stepdown.

franz-go comes through the Go module proxy, librdkafka from Debian's source package, kafka-python from PyPI.
"""

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest
from stepdown.testing.process import RunningProcess
from support.broker import Stepdown
from support.certificates import Authority
from support.franz_go_suite import franz_go_suite, outcomes, run_kgo
from support.kafka_python_suite import kafka_python_suite, run_tests
from support.librdkafka_suite import CLUSTER, librdkafka_suite, run_suite
from support.secure import USER, secure_broker, secure_settings, set_password

pytestmark = pytest.mark.slow

SKIPPED = re.compile(r"Test\w*(Share|SCRAM|BrokerTooOld)\w*")
WANTS_INTERNAL_TOPICS = "Test848RegexBrokerResolves"
"""It fails with Kafka 4.4.0, too: an expression does not match an internal topic there."""
PROPERTIES = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}
PASSWORD = "a-password"
TESTS = Path(__file__).parents[1]


def test_franz_go_passes_its_own_tests(tmp_path: Path) -> None:
    """Groups of all balancers and of both protocols, transactions with rebalances in between, and all else of kgo."""
    folder = franz_go_suite(tmp_path)
    with Stepdown(tmp_path, properties=PROPERTIES) as broker:
        printed = run_kgo(folder, broker.address, records=20_000, skip=f"^{WANTS_INTERNAL_TOPICS}$")
    assert not outcomes(printed, "FAIL"), printed[-8000:]
    assert {"TestGroupETL", "TestTxnEtl"} <= outcomes(printed, "PASS"), printed[-8000:]
    skipped = outcomes(printed, "SKIP")
    assert all(SKIPPED.fullmatch(name) for name in skipped), " ".join(skipped)


async def test_franz_go_passes_its_own_tests_over_tls_and_scram(tmp_path: Path) -> None:
    """The same with each connection over TLS, and its tests of SCRAM at a listener of their own.

    But for one that sets a dialer of its own, which the client refuses beside TLS.
    """
    folder, authority = franz_go_suite(tmp_path), Authority(tmp_path)
    async with secure_broker(tmp_path / "data", secure_settings(authority) | PROPERTIES) as broker:
        await set_password(broker, USER, PASSWORD)
        run = partial(
            run_kgo,
            KGO_TEST_TLS=f"ca:{authority.file}",
            KGO_TEST_SCRAM_SEEDS=str(broker.addresses["SASL_PLAINTEXT"]),
            KGO_TEST_SCRAM=f"{USER}:{PASSWORD}:512",
        )
        address = str(broker.addresses["SSL"])
        printed = await asyncio.to_thread(
            run, folder, address, records=5_000, skip=f"^(TestIssue769|{WANTS_INTERNAL_TOPICS})$"
        )
    assert not outcomes(printed, "FAIL"), printed[-8000:]
    wanted = {"TestGroupETL", "TestTxnEtl", "TestSCRAMAuth", "TestSCRAMAuthBadCredentials"}
    assert wanted <= outcomes(printed, "PASS"), printed[-8000:]


NEEDS_HEADERS = frozenset({"0053_stats", "0098_consumer_txn", "0110_batch_size"})
"""Of RapidJSON; skipped where Debian's rapidjson-dev was not installed when they were built."""
SKIPPED_BY_LIBRDKAFKA = {
    "0082_fetch_max_bytes": "is not in the quick form",
    "0097_ssl_verify": "wants certificates in the files that trivup makes",
    "0101_fetch_from_follower": "wants brokers in the racks that trivup names",
    "0126_oauthbearer_oidc": "wants a server that issues tokens",
}
WANT_SASL = frozenset({"0135_sasl_credentials", "0142_reauthentication"})
WANT_NO_LOGIN = re.compile("SSL|SASL|SaslHandshake|[Aa]uthentication")
"""Why a test is skipped that runs Java's clients, Kafka's scripts or librdkafka's mock cluster, or cuts connections."""


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param("", id="PLAINTEXT"),
        pytest.param("PLAIN", id="SASL_SSL-PLAIN"),
        pytest.param("SCRAM-SHA-512", id="SASL_SSL-SCRAM-SHA-512"),
    ],
)
def test_librdkafka_passes_its_own_tests(tmp_path: Path, mechanism: str) -> None:
    folder = librdkafka_suite()
    security = "SASL_SSL" if mechanism else "PLAINTEXT"
    with RunningProcess(brokers=3, config=CLUSTER, security=security) as kafka:
        settings = kafka.clients.confluent_kafka(mechanism=mechanism)
        outcomes = run_suite(folder, settings, kafka.clients.java(mechanism=mechanism), tmp_path)
    assert not outcomes.failed, f"{outcomes.failed}: {outcomes.printed[-8000:]}"
    skipped = {name for name, why in outcomes.skipped.items() if not (mechanism and WANT_NO_LOGIN.search(why))}
    expected = SKIPPED_BY_LIBRDKAFKA.keys() | NEEDS_HEADERS
    assert skipped <= (expected if mechanism else expected | WANT_SASL), outcomes.skipped
    wanted = WANT_SASL if mechanism else {"0115_producer_auth", "0119_consumer_auth"}
    assert {"0081_admin", "0093_holb_consumer", "0103_transactions", *wanted} <= outcomes.passed, outcomes.skipped


def test_kafka_python_passes_its_own_tests_of_tls_and_sasl(tmp_path: Path) -> None:
    folder = kafka_python_suite(tmp_path)
    plugin = ("-p", "support.kafka_python_fixture")
    environment = {"ZOOKEEPER_URI": "none://localhost:1", "PYTHONPATH": str(TESTS)}
    done = run_tests(folder, ("sasl", "ssl"), "3.9.1", *plugin, **environment)
    assert done.returncode == 0, done.stdout[-8000:]
    assert "11 passed" in done.stdout, done.stdout[-8000:]
