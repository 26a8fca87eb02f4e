"""Logins through the gateway and at it, and TLS on both sides."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.gateway.gateway import Gateway
from stepdown.gateway.offered_versions import TOKEN_REQUESTS
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from support.certificates import Authority
from support.client import RawClient
from support.gateway import gateway_to, started
from support.http_page import get_json
from support.sasl_client import bare, handshake, log_in, plain_token
from support.secure import PASSWORD, USER, secure_broker, secure_settings, set_password

JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'


@asynccontextmanager
async def gateway_before(
    tmp_path: Path, listener: str, **settings: object
) -> AsyncIterator[tuple[Gateway, Broker, Authority]]:
    """A gateway to one of the broker's listeners."""
    authority = Authority(tmp_path)
    async with secure_broker(tmp_path / "log", secure_settings(authority)) as broker:
        address = broker.addresses[listener]
        settings = {"upstream_ssl_truststore_location": authority.file, **settings}
        gateway = gateway_to(f"127.0.0.1:{address.port}", **settings)
        async with started(gateway):
            yield gateway, broker, authority


async def connect(gateway: Gateway, tls: ssl.SSLContext | None = None) -> RawClient:
    return await RawClient.connect("127.0.0.1", gateway.address.port, ssl=tls)


RELAY = {"brokers": "1=127.0.0.1:1"}
"""So that the gateway, which has no login, does not ask the cluster."""


async def test_bare_tokens_log_in_to_the_cluster(tmp_path: Path) -> None:
    async with gateway_before(tmp_path, "SASL_PLAINTEXT", **RELAY) as (gateway, _, _), await connect(gateway) as client:
        assert (await handshake(client, "PLAIN", 0)).error_code == 0
        assert await bare(client, plain_token()) == b""
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers


async def test_a_wrong_password_is_in_the_log_with_the_words_of_the_cluster(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with gateway_before(tmp_path, "SASL_PLAINTEXT", **RELAY) as (gateway, _, _), await connect(gateway) as client:
        await handshake(client, "PLAIN", 0)
        assert await bare(client, plain_token(password="wrong")) is None
    assert "the cluster refuses the login by PLAIN: Authentication failed: Invalid username or password" in caplog.text


async def test_a_wrong_password_by_requests_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A login by SaslAuthenticate passed unread: the log had no line of a refused one."""
    async with gateway_before(tmp_path, "SASL_PLAINTEXT", **RELAY) as (gateway, _, _), await connect(gateway) as client:
        await handshake(client, "PLAIN", 1)
        answer = await client.send(SaslAuthenticateRequest(auth_bytes=plain_token(password="wrong")), 1)
    assert answer.error_code == 58
    assert "the cluster refuses the login of 127.0.0.1:" in caplog.text
    assert ") by PLAIN: Authentication failed: Invalid username or password" in caplog.text


async def test_a_client_that_does_not_log_in_is_said_to_be_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log said that the broker had closed the connection, and nothing of the login that it waits for."""
    async with gateway_before(tmp_path, "SASL_PLAINTEXT", **RELAY) as (gateway, _, _), await connect(gateway) as client:
        await client.send_raw(client.frame(MetadataRequest(topics=()), 1))
        assert await client.read_frame() is None
    assert "closed the connection, and the client has not logged in: " in caplog.text


@pytest.mark.parametrize("version", [0, 1])
async def test_a_mechanism_that_is_not_known_is_answered_with_those_that_are(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, version: int
) -> None:
    """The log had no line of it."""
    async with gateway_before(tmp_path, "SASL_PLAINTEXT", **RELAY) as (gateway, _, _), await connect(gateway) as client:
        answer = await handshake(client, "GSSAPI", version)
        assert answer.error_code == 33
        assert "PLAIN" in answer.mechanisms
    assert ") by GSSAPI: UNSUPPORTED_SASL_MECHANISM" in caplog.text


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
async def test_a_login_by_requests_passes(tmp_path: Path, mechanism: str) -> None:
    settings: dict[str, object] = {"upstream_security_protocol": "SSL", **RELAY}
    async with gateway_before(tmp_path, "SASL_SSL", **settings) as (gateway, _, _), await connect(gateway) as client:
        await log_in(client, mechanism)
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_gateway_that_swaps_logs_in_itself(tmp_path: Path, mechanism: str) -> None:
    swap = {
        "authentication": "swap",
        "upstream_security_protocol": "SASL_SSL",
        "upstream_sasl_mechanism": mechanism,
        "upstream_sasl_username": USER,
        "upstream_sasl_password": PASSWORD,
    }
    async with gateway_before(tmp_path, "SASL_SSL", **swap) as (gateway, _, _), await connect(gateway) as client:
        assert (await client.send(MetadataRequest(topics=()), 1)).brokers[0].port in gateway.ports.ports.values()


@pytest.mark.parametrize("version", [0, 1])
async def test_clients_log_in_to_the_gateway(tmp_path: Path, version: int) -> None:
    own = {
        "authentication": "swap",
        "security_protocol": "SASL_SSL",
        "sasl_enabled_mechanisms": "PLAIN",
        "listener_name_gateway_plain_sasl_jaas_config": JAAS,
        "ssl_keystore_type": "PEM",
        "upstream_security_protocol": "SASL_SSL",
        "upstream_sasl_mechanism": "PLAIN",
        "upstream_sasl_username": USER,
        "upstream_sasl_password": PASSWORD,
    }
    authority = Authority(tmp_path, "own")
    keys = {"ssl_keystore_location": authority.issue("gateway")}
    trust = ssl.create_default_context(cafile=authority.file)
    async with gateway_before(tmp_path, "SASL_SSL", **own, **keys) as (gateway, _, _):
        async with await connect(gateway, trust) as client:
            if version:
                await log_in(client, "PLAIN")
            else:
                await handshake(client, "PLAIN", 0)
                assert await bare(client, plain_token()) == b""
            assert (await client.send(MetadataRequest(topics=()), 1)).brokers
        async with await connect(gateway, trust) as stranger:
            await stranger.send_raw(stranger.frame(MetadataRequest(topics=()), 1))
            assert await stranger.read_frame() is None


async def test_nobody_is_given_a_token_of_the_gateways_own_user(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With authentication=swap a client could make a delegation token, or see those there are, and log in past the
    gateway as the gateway's user, after its own access had ended."""
    swap = {
        "authentication": "swap",
        "upstream_security_protocol": "SASL_SSL",
        "upstream_sasl_mechanism": "PLAIN",
        "upstream_sasl_username": USER,
        "upstream_sasl_password": PASSWORD,
    }
    async with gateway_before(tmp_path, "SASL_SSL", **swap) as (gateway, _, _):
        for key in TOKEN_REQUESTS:
            async with await connect(gateway) as client:
                await client.send_raw(struct.pack(">ihhih", 10, key, 1, 1, -1))
                assert await client.read_frame() is None
    assert caplog.text.count("would show the secret of a token of the gateway's own user") == len(TOKEN_REQUESTS)


def swap_with(password: str) -> dict[str, str]:
    return {
        "authentication": "swap",
        "upstream_security_protocol": "SASL_SSL",
        "upstream_sasl_mechanism": "SCRAM-SHA-256",
        "upstream_sasl_username": USER,
        "upstream_sasl_password": password,
    }


async def test_a_gateway_that_cannot_log_in_is_not_ready(tmp_path: Path) -> None:
    """It said that it was ready and that nothing was wrong, and closed every client's connection."""
    authority = Authority(tmp_path)
    async with secure_broker(tmp_path / "log", secure_settings(authority)) as broker:
        address = f"127.0.0.1:{broker.addresses['SASL_SSL'].port}"
        trusted = {"upstream_ssl_truststore_location": authority.file}
        gateway = gateway_to(address, **swap_with("wrong"), **trusted)
        try:
            fault = await gateway.start()
            assert "was not logged in" in fault
            page = await gateway.readiness_page()
            (problem,) = (await get_json(gateway.http_address, "overview"))["problems"]
            assert (page.status, page.body.decode()) == (503, f"not ready: {problem['names'][0]}\n")
            assert problem["names"] == [f"the gateway cannot log in to the cluster: {fault}"]
            assert problem["help"].startswith("upstream.sasl.*")
            assert gateway.metrics.upstream_failures.of("bootstrap").value == 1
            async with await connect(gateway) as client:
                await client.send_raw(client.frame(MetadataRequest(topics=()), 1))
                assert await client.read_frame() is None
            assert gateway.metrics.upstream_failures.of("bootstrap").value == 2
        finally:
            await gateway.stop(drain_ms=0)


async def test_a_password_that_was_changed_is_found_by_the_first_client(tmp_path: Path) -> None:
    """The gateway's own connection, which had logged in before, went on answering for it."""
    async with gateway_before(tmp_path, "SASL_SSL", **swap_with(PASSWORD)) as (gateway, broker, _):
        await set_password(broker, USER, "another")
        async with await connect(gateway) as client:
            await client.send_raw(client.frame(MetadataRequest(topics=()), 1))
            assert await client.read_frame() is None
        assert (await gateway.readiness_page()).status == 503
        assert "was not logged in" in await gateway.cluster_watch.refresh_brokers()
        await set_password(broker, USER, PASSWORD)
        assert await gateway.cluster_watch.refresh_brokers() == ""
        assert (await gateway.readiness_page()).status == 200


async def test_a_cluster_with_another_authority_names_the_setting(tmp_path: Path) -> None:
    """A certificate was said to be signed by nobody who is trusted, and not where the trusted ones are named."""
    trusted = {"upstream_ssl_truststore_location": Authority(tmp_path, "other").file}
    authority = Authority(tmp_path)
    async with secure_broker(tmp_path / "log", secure_settings(authority)) as broker:
        gateway = gateway_to(f"127.0.0.1:{broker.addresses['SASL_SSL'].port}", **swap_with(PASSWORD), **trusted)
        try:
            assert (await gateway.start()).endswith("; see upstream.ssl.truststore.location")
        finally:
            await gateway.stop(drain_ms=0)


async def test_a_cluster_that_wants_a_login_names_the_setting(tmp_path: Path) -> None:
    """It was said to have closed the connection, and nothing of a login."""
    async with secure_broker(tmp_path / "log", secure_settings(Authority(tmp_path))) as broker:
        gateway = gateway_to(f"127.0.0.1:{broker.addresses['SASL_PLAINTEXT'].port}")
        try:
            assert "; does it want a login? see upstream.security.protocol or, " in await gateway.start()
        finally:
            await gateway.stop(drain_ms=0)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "; is it a broker's port, and does it want TLS? see upstream.security.protocol"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP comes where a frame of Kafka's protocol begins"),
    ],
    ids=["hangs up", "HTTP"],
)
async def test_a_port_that_is_none_of_a_broker_is_said_to_be_one(answer: bytes, why: str) -> None:
    """It was said to have closed the connection, without a hint; an answer of HTTP to announce 1213486160 bytes."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(5)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1") as server:
        gateway = gateway_to(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        try:
            assert (await gateway.start()).endswith(why)
        finally:
            await gateway.stop(drain_ms=0)


async def test_a_cluster_that_speaks_tls_names_the_setting() -> None:
    """It was said to answer something else than a Kafka response, since TLS came where a frame begins."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(5)
        writer.write(bytes.fromhex("15 0303 0002 0228"))  # an alert, as Kafka's listeners with TLS send it
        await reader.read()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1") as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        gateway = gateway_to(address, **swap_with("x") | {"upstream_security_protocol": "SASL_PLAINTEXT"})
        try:
            assert await gateway.start() == f"{address} speaks TLS: set upstream.security.protocol to SASL_SSL"
        finally:
            await gateway.stop(drain_ms=0)
