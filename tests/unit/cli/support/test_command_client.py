"""Commands on listeners that have TLS, ask for a login, or both."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.cli.support.bootstrap_server import connect_client_by_properties
from stepdown.client import blocking_client
from stepdown.client.connection import Connection
from stepdown.client.operation import ask
from stepdown.client.security.settings import SaslSettings
from stepdown.protocol.messages.metadata import MetadataRequest
from support.certificates import Authority
from support.command import Finished, run_command
from support.secure import PASSWORD, USER, secure_broker, secure_settings

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def broker(tmp_path: Path, authority: Authority) -> AsyncIterator[Broker]:
    async with secure_broker(
        tmp_path / "data", secure_settings(authority, connections_max_reauth_ms="600000")
    ) as running:
        yield running


def login(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": password}


async def listed(broker: Broker, listener: str, folder: Path, **properties: str) -> Finished:
    file = folder / "client.properties"
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    command = ("topics", "list", "--json", "-b", str(broker.addresses[listener]), "--command-config", str(file))
    return await asyncio.to_thread(run_command, *command)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_a_command_logs_in(
    broker: Broker, authority: Authority, tmp_path: Path, protocol: str, mechanism: str
) -> None:
    trust = {"ssl.truststore.location": str(authority.file)} if protocol == "SASL_SSL" else {}
    told = await listed(broker, protocol, tmp_path, **{"security.protocol": protocol}, **trust, **login(mechanism))
    assert (told.exit_code, told.stdout) == (0, "[]\n"), told.stderr


async def test_a_command_shows_its_certificate(broker: Broker, authority: Authority, tmp_path: Path) -> None:
    trust = {"security.protocol": "SSL", "ssl.truststore.location": str(authority.file)}
    own = {"ssl.keystore.location": str(authority.issue("own"))}
    assert (await listed(broker, "MTLS", tmp_path, **trust, **own)).exit_code == 0
    assert (await listed(broker, "SSL", tmp_path, **trust)).exit_code == 0
    assert (await listed(broker, "MTLS", tmp_path, **trust)).exit_code == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_wrong_password_is_told(broker: Broker, tmp_path: Path, mechanism: str) -> None:
    protocol = {"security.protocol": "SASL_PLAINTEXT"}
    told = await listed(broker, "SASL_PLAINTEXT", tmp_path, **protocol, **login(mechanism, "wrong"))
    assert told.exit_code == 1
    assert f"{USER} by {mechanism} was not logged in" in told.stderr
    assert "wrong" not in told.stderr


async def test_a_certificate_of_somebody_else_is_told(broker: Broker, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    trust = {"security.protocol": "SSL", "ssl.truststore.location": str(other.file)}
    told = await listed(broker, "SSL", tmp_path, **trust)
    assert (told.exit_code, "TLS could not be agreed on" in told.stderr) == (1, True)


@pytest.mark.parametrize("listener", ["SSL", "SASL_PLAINTEXT"])
async def test_who_asks_in_plain_text_is_told_of_the_option(broker: Broker, listener: str) -> None:
    told = await asyncio.to_thread(run_command, "topics", "list", "-b", broker.addresses[listener])
    assert (told.exit_code, "--command-config FILE" in told.stderr) == (1, True)


async def test_a_login_is_renewed_before_it_ends(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    lifetimes: list[int] = []

    def count(connection: Connection, sasl: SaslSettings) -> int:
        lifetimes.append(log_in(connection, sasl))
        return lifetimes[-1]

    log_in = Connection.log_in
    monkeypatch.setattr(Connection, "log_in", count)
    monkeypatch.setattr(blocking_client, "monotonic", lambda: now)

    def ask_at(*moments: float) -> None:
        nonlocal now
        properties = {"security.protocol": "SASL_PLAINTEXT", **login("SCRAM-SHA-256")}
        with connect_client_by_properties(str(broker.addresses["SASL_PLAINTEXT"]), properties) as client:
            for moment in moments:
                now = moment
                client.run(ask(MetadataRequest(topics=())))

    await asyncio.to_thread(ask_at, 1, 590, 591)
    assert lifetimes == [600_000, 600_000]
