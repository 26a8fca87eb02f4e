"""Users with SCRAM passwords, made, seen and removed by kafka-configs.sh and by `stepdown users`, and logging in."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.cli.support.bootstrap_server import connect_client_by_properties
from stepdown.cli.support.failures import CommandFailure
from support.certificates import Authority
from support.command import run_command
from support.kafka_tools import CONFIG, RELEASES, KafkaTools
from support.secure import secure_broker, secure_settings

pytestmark = pytest.mark.java


@pytest.fixture(params=[RELEASES[0], pytest.param(RELEASES[1], marks=pytest.mark.slow)])
def tools(request: pytest.FixtureRequest) -> KafkaTools:
    return KafkaTools(str(request.param))


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(Authority(tmp_path))) as running:
        yield running


async def configs(tools: KafkaTools, broker: Broker, arguments: str) -> str:
    command = f"--bootstrap-server {broker.addresses['PLAINTEXT']} --entity-type users {arguments}"
    return await asyncio.to_thread(tools.run, CONFIG, command)


async def users(broker: Broker, *arguments: str, stdin: bytes = b"") -> str:
    address = str(broker.addresses["PLAINTEXT"])
    done = await asyncio.to_thread(run_command, "users", *arguments, "-b", address, stdin=stdin)
    assert done.exit_code == 0, done.stderr
    return done.stdout


async def logs_in(broker: Broker, user: str, password: str, mechanism: str) -> bool:
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }

    def tried() -> bool:
        try:
            connect_client_by_properties(str(broker.addresses["SASL_PLAINTEXT"]), properties).close()
        except CommandFailure as refused:
            assert "was not logged in" in str(refused)
            return False
        return True

    return await asyncio.to_thread(tried)


async def test_a_user_of_kafkas_tool_is_one_of_ours(tools: KafkaTools, broker: Broker) -> None:
    # One at a time: Kafka refuses a user who is named twice in a request, by whatever mechanisms.
    for added in ("SCRAM-SHA-256=[iterations=8192,password=first]", "SCRAM-SHA-512=[password=second]"):
        told = await configs(tools, broker, f"--alter --entity-name bob --add-config {added}")
        assert "Completed updating config for user bob" in told
    assert await logs_in(broker, "bob", "first", "SCRAM-SHA-256")
    assert await logs_in(broker, "bob", "second", "SCRAM-SHA-512")
    assert not await logs_in(broker, "bob", "first", "SCRAM-SHA-512")
    listed = [each for each in json.loads(await users(broker, "list", "--json")) if each["user"] == "bob"]
    assert [(each["mechanism"], each["iterations"]) for each in listed] == [
        ("SCRAM-SHA-256", 8192),
        ("SCRAM-SHA-512", 4096),
    ]
    await users(broker, "remove", "bob", "-m", "SCRAM-SHA-256")
    assert not await logs_in(broker, "bob", "first", "SCRAM-SHA-256")
    described = await configs(tools, broker, "--describe --entity-name bob")
    assert "SCRAM-SHA-512=iterations=4096" in described
    assert "SCRAM-SHA-256" not in described


async def test_a_user_of_ours_is_one_of_kafkas_tool(tools: KafkaTools, broker: Broker) -> None:
    await users(broker, "set", "carol", "-m", "scram-sha-256", "--iterations", "5000", stdin="gehe\u00efm\n".encode())
    assert await logs_in(broker, "carol", "gehe\u00efm", "SCRAM-SHA-256")
    described = await configs(tools, broker, "--describe")
    assert "user-principal 'carol' are SCRAM-SHA-256=iterations=5000" in described
    told = await configs(tools, broker, "--alter --entity-name carol --delete-config SCRAM-SHA-256")
    assert "Completed updating config for user carol" in told
    assert not await logs_in(broker, "carol", "gehe\u00efm", "SCRAM-SHA-256")
    assert "carol" not in await users(broker, "list")
