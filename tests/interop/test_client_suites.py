"""The integration tests of franz-go, librdkafka and kafka-python, as their authors wrote them, against stepdown.

franz-go comes through the Go module proxy, librdkafka from Debian's source package, kafka-python from PyPI.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from stepdown.testing.process import RunningProcess
from support.broker import Stepdown
from support.certificates import Authority
from support.clients_go import go, require_go
from support.deadline import JOB_DEADLINE_S
from support.librdkafka_suite import librdkafka_suite, run_suite
from support.maven import skip_or_fail
from support.secure import USER, secure_broker, secure_settings, set_password

pytestmark = pytest.mark.slow

FRANZ_GO = "github.com/twmb/franz-go@v1.22.2"
SKIPPED = re.compile(r"Test\w*(Share|SCRAM|BrokerTooOld)\w*")
KAFKA_PYTHON = "kafka-python==3.0.12"
PROPERTIES = {
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.coordinator.rebalance.protocols": "classic,consumer",
}
PASSWORD = "a-password"
SUPPORT = Path(__file__).parents[1]


@pytest.fixture
def franz_go(tmp_path: Path) -> Path:
    """The folder of its sources, which cannot be written to."""
    require_go()
    printed = go(["mod", "download", "-json", FRANZ_GO], tmp_path)
    try:
        return Path(json.loads(printed)["Dir"])
    except (ValueError, KeyError):
        skip_or_fail(f"{FRANZ_GO} cannot be had: {printed[-500:]}")
        raise


def outcomes(printed: str, outcome: str) -> set[str]:
    """The Go tests that ended so."""
    return set(re.findall(rf"^--- {outcome}: (\w+)", printed, re.MULTILINE))


def test_franz_go_passes_its_own_tests(franz_go: Path, tmp_path: Path) -> None:
    """Groups of all balancers and of both protocols, transactions with rebalances in between, and all else of kgo."""
    with Stepdown(tmp_path, properties=PROPERTIES) as broker:
        printed = go(
            ["test", "-count=1", "-v", f"-timeout={JOB_DEADLINE_S}s", "./pkg/kgo"],
            franz_go,
            KGO_SEEDS=broker.address,
            KGO_TEST_RF="1",
            KGO_TEST_RECORDS="20000",
            KGO_LOG_LEVEL="none",
        )
    assert not outcomes(printed, "FAIL"), printed[-8000:]
    assert {"TestGroupETL", "TestTxnEtl"} <= outcomes(printed, "PASS"), printed[-8000:]
    skipped = outcomes(printed, "SKIP")
    assert all(SKIPPED.fullmatch(name) for name in skipped), " ".join(skipped)


async def test_franz_go_passes_its_own_tests_over_tls_and_scram(franz_go: Path, tmp_path: Path) -> None:
    """The same with each connection over TLS, and its tests of SCRAM at a listener of their own.

    But for one that sets a dialer of its own, which the client refuses beside TLS.
    """
    authority = Authority(tmp_path)
    async with secure_broker(tmp_path / "data", secure_settings(authority) | PROPERTIES) as broker:
        await set_password(broker, USER, PASSWORD)
        printed = await asyncio.to_thread(
            go,
            ["test", "-count=1", "-v", "-skip=^TestIssue769$", f"-timeout={JOB_DEADLINE_S}s", "./pkg/kgo"],
            franz_go,
            KGO_SEEDS=str(broker.addresses["SSL"]),
            KGO_TEST_TLS=f"ca:{authority.file}",
            KGO_TEST_SCRAM_SEEDS=str(broker.addresses["SASL_PLAINTEXT"]),
            KGO_TEST_SCRAM=f"{USER}:{PASSWORD}:512",
            KGO_TEST_RF="1",
            KGO_TEST_RECORDS="5000",
            KGO_LOG_LEVEL="none",
        )
    assert not outcomes(printed, "FAIL"), printed[-8000:]
    wanted = {"TestGroupETL", "TestTxnEtl", "TestSCRAMAuth", "TestSCRAMAuthBadCredentials"}
    assert wanted <= outcomes(printed, "PASS"), printed[-8000:]


LIBRDKAFKA_CLUSTER = {
    "num.partitions": "4",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "group.initial.rebalance.delay.ms": "3000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "connections.max.reauth.ms": "30000",
}
"""As librdkafka's authors set up Kafka for them: three brokers, ACLs for who asks for some. But their sessions expire
after 10 s, with which 0093_holb_consumer mostly fails, with Kafka 3.9.1 as well: librdkafka holds back the login that
renews a session while a JoinGroup waits, for 10 s there, and gives it up after the 3 s of its `socket.timeout.ms`."""
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
    with RunningProcess(brokers=3, config=LIBRDKAFKA_CLUSTER, security=security) as kafka:
        settings = kafka.clients.confluent_kafka(mechanism=mechanism)
        outcomes = run_suite(folder, settings, kafka.clients.java(mechanism=mechanism), tmp_path)
    assert not outcomes.failed, f"{outcomes.failed}: {outcomes.printed[-8000:]}"
    skipped = {name for name, why in outcomes.skipped.items() if not (mechanism and WANT_NO_LOGIN.search(why))}
    expected = SKIPPED_BY_LIBRDKAFKA.keys() | NEEDS_HEADERS
    assert skipped <= (expected if mechanism else expected | WANT_SASL), outcomes.skipped
    wanted = WANT_SASL if mechanism else {"0115_producer_auth", "0119_consumer_auth"}
    assert {"0081_admin", "0093_holb_consumer", "0103_transactions", *wanted} <= outcomes.passed, outcomes.skipped


@pytest.fixture
def kafka_python(tmp_path: Path) -> Path:
    """The folder of its sources, with what its tests import and its source distribution leaves out."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--dest", str(tmp_path)]
    done = subprocess.run([*command, KAFKA_PYTHON], capture_output=True, text=True, check=False)
    if done.returncode:
        skip_or_fail(f"pip cannot get {KAFKA_PYTHON}: {done.stderr.strip()}")
    (archive,) = tmp_path.glob("kafka*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    (folder,) = (each for each in tmp_path.iterdir() if each.is_dir())
    (folder / "test" / "__init__.py").touch()
    (folder / "test" / "service.py").write_text("class ExternalService: pass\nclass SpawnedService: pass\n")
    return folder


def test_kafka_python_passes_its_own_tests_of_tls_and_sasl(kafka_python: Path) -> None:
    tests = [f"test/integration/test_{name}_integration.py" for name in ("sasl", "ssl")]
    options = ["-p", "support.kafka_python_fixture", "-p", "no:cacheprovider", "-o", "addopts="]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", *options, *tests],
        cwd=kafka_python,
        env=os.environ
        | {
            "KAFKA_VERSION": "3.9.1",
            "KAFKA_ROOT": str(kafka_python),
            "ZOOKEEPER_URI": "none://localhost:1",
            "PYTHONPATH": str(SUPPORT),
            "PYTEST_ADDOPTS": "",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=JOB_DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert "11 passed" in done.stdout, done.stdout[-8000:]
