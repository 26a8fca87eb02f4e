"""kafka-acls.sh and kafka-configs.sh against stepdown; access rules out of a directory that Kafka wrote."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from support.authorization_matrix import rule, set_rules
from support.broker import Stepdown
from support.command import run_command
from support.kafka_authorizing import ADMIN, AUTHORIZER, PASSWORD, AuthorizingKafka
from support.kafka_tools import ACLS, CONFIG, RELEASES, KafkaTools
from support.running import running_broker

pytestmark = pytest.mark.java

COMMANDS: Sequence[tuple[str, str, str]] = (
    (ACLS, "--add --allow-principal User:alice --operation Read --topic orders --group g", r"Adding ACLs.*TOPIC"),
    (
        ACLS,
        "--add --deny-principal User:bob --operation Write --topic o --resource-pattern-type prefixed",
        r"operation=WRITE",
    ),
    (
        ACLS,
        "--list --topic orders --resource-pattern-type match",
        r"principal=User:bob.*principal=User:alice|alice.*bob",
    ),
    (ACLS, "--remove --force --allow-principal User:alice --operation Read --topic orders", r""),
    (ACLS, "--list --principal User:alice", r"GROUP.*operation=READ"),
    (CONFIG, "--alter --entity-type users --entity-name a --add-config producer_byte_rate=9", r"Completed updating"),
    (
        CONFIG,
        "--alter --entity-type ips --entity-default --add-config connection_creation_rate=50",
        r"Completed updating",
    ),
    (CONFIG, "--describe --entity-type users --entity-name a", r"producer_byte_rate=9"),
    (CONFIG, "--alter --entity-type users --entity-name a --delete-config producer_byte_rate", r"Completed updating"),
)


@pytest.fixture(scope="module", params=[RELEASES[0], pytest.param(RELEASES[1], marks=pytest.mark.slow)])
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def broker(release: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepdown]:
    settings = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with Stepdown(tmp_path_factory.mktemp("access"), properties=settings) as running:
        yield running


@pytest.mark.parametrize("command", COMMANDS, ids=[arguments for _, arguments, _ in COMMANDS])
def test_a_tool_does_its_work(release: str, broker: Stepdown, command: tuple[str, str, str]) -> None:
    tool, arguments, printed = command
    told = KafkaTools(release).run(tool, f"--bootstrap-server {broker.address} {arguments}")
    assert re.search(printed, told, re.DOTALL), told


def test_rules_are_taken_over_from_kafka(tmp_path: Path) -> None:
    kept = [
        rule(ResourceType.TOPIC, "orders", AclOperation.READ, principal="User:alice"),
        rule(
            ResourceType.GROUP,
            "g",
            AclOperation.ALL,
            pattern=PatternType.PREFIXED,
            permission=PermissionType.DENY,
            host="10.0.0.1",
        ),
    ]
    removed = rule(ResourceType.TOPIC, "others", AclOperation.WRITE)
    with AuthorizingKafka(tmp_path / "kafka") as kafka:
        asyncio.run(_write(kafka, [[removed], kept]))
    (kafka.folder / "metadata" / "__cluster_metadata-0").rename(kafka.log_dir / "__cluster_metadata-0")
    assert asyncio.run(_taken_over(kafka.log_dir)) == set(kept)


def test_our_commands_log_in_to_kafka(tmp_path: Path) -> None:
    """Its plain listener lets them do nothing."""
    file = tmp_path / "client.properties"
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.username={ADMIN}\nsasl.password={PASSWORD}\n")
    with AuthorizingKafka(tmp_path / "kafka") as kafka:

        def told(command: str, stdin: bytes = b"") -> str:
            login = ("-b", kafka.admin_address, "--command-config", file)
            done = run_command(*command.split(), *login, stdin=stdin)
            assert done.exit_code == 0, done.stderr
            return done.stdout

        assert "CLUSTER_AUTHORIZATION_FAILED" in run_command("acls", "list", "-b", kafka.address).stderr
        told("acls add --principal User:alice --operation read --topic orders")
        assert "User:alice" in told("acls list")
        told("users set bob", b"secret\n")
        assert "bob" in told("users list")
        told("users remove bob")
        assert "bob" not in told("users list")
        told("topics create orders")
        told("produce orders", b"a\n")
        assert told("consume orders -n 1 --from-beginning -g readers") == "a\n"


async def _write(kafka: AuthorizingKafka, steps: Sequence[Sequence[Acl]]) -> None:
    admin = await kafka.admin()
    for acls in steps:
        await set_rules(admin, acls)
    await admin.close()


async def _taken_over(log_dir: Path) -> set[Acl]:
    async with running_broker(log_dir, authorizer_class_name=AUTHORIZER) as broker:
        assert isinstance(broker, Broker)
        return set(broker.topics.store.state.acls)
