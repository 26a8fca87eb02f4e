"""The gateway's logins for its clients at a cluster where a login ends (KIP-368)."""

import asyncio
from pathlib import Path

import pytest
from stepdown.client.security.settings import SaslSettings
from stepdown.protocol.messages.metadata import MetadataRequest
from support.certificates import Authority
from support.client import RawClient
from support.clock import ManualClock
from support.gateway import gateway_to, started
from support.secure import SWAP, secure_broker, secure_settings, set_password

LIFETIME_MS = 60_000
BROKERS = MetadataRequest(topics=())


class MovedClock(ManualClock):
    """Timers are those of the loop; `now` moves by hand."""

    def call_later(self, delay_ms, callback):  # type: ignore[no-untyped-def]
        return asyncio.get_running_loop().call_later(delay_ms / 1000, callback)

    sweep_later = call_later


@pytest.mark.parametrize("addresses", ["ports", "single"])
@pytest.mark.parametrize("away_ms", [LIFETIME_MS * 9 // 10, LIFETIME_MS * 2])
async def test_a_login_that_ends_is_renewed(tmp_path: Path, addresses: str, away_ms: int) -> None:
    """The cluster closed the connection of a client once in `connections.max.reauth.ms`, and a request was lost."""
    settings = secure_settings(Authority(tmp_path), connections_max_reauth_ms=str(LIFETIME_MS))
    async with secure_broker(tmp_path / "log", settings) as broker:
        clock, ahead_ms = MovedClock(), 0
        elapsed_ms = broker.clock.monotonic_ms
        broker.clock.monotonic_ms = lambda: elapsed_ms() + ahead_ms  # type: ignore[method-assign]
        upstream = str(broker.addresses["SASL_PLAINTEXT"])
        async with (
            started(gateway_to(upstream, clock, addresses=addresses, **SWAP)) as gateway,
            await RawClient.connect("127.0.0.1", gateway.address.port) as client,
        ):
            for _ in range(3):
                assert (await client.send(BROKERS, 1)).brokers
                ahead_ms += away_ms
                clock.now += away_ms


@pytest.mark.parametrize("addresses", ["ports", "single"])
async def test_a_login_that_was_replaced_is_not_renewed(tmp_path: Path, addresses: str) -> None:
    settings = secure_settings(Authority(tmp_path), connections_max_reauth_ms=str(LIFETIME_MS))
    async with secure_broker(tmp_path / "log", settings) as broker:
        await set_password(broker, "bob", "other")
        clock = MovedClock()
        async with (
            started(gateway_to(str(broker.addresses["SASL_PLAINTEXT"]), clock, addresses=addresses, **SWAP)) as gateway,
            await RawClient.connect("127.0.0.1", gateway.address.port) as client,
        ):
            assert (await client.send(BROKERS, 1)).brokers
            gateway.upstream.replace_login(SaslSettings(mechanism="SCRAM-SHA-256", username="bob", password="other"))
            clock.now += LIFETIME_MS
            assert (await client.send(BROKERS, 1)).brokers
            assert gateway.upstream.login_fault == ""
