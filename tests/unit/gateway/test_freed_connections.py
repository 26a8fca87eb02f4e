"""What a connection held is free when it has ended. Nobody else frees it: the garbage collector hardly ever runs.

A worker of a gateway grew by 15 MiB in an hour in which clients connected again and again.
"""

import asyncio
import ssl
from pathlib import Path

import pytest
from stepdown.gateway.gateway import Gateway
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.records.builder import build_batch
from support.certificates import Authority
from support.cyclic_garbage import no_cycles_left
from support.fetching import create, fetch, fetched, produce, records
from support.gateway import running_gateway
from support.running import until
from support.sasl_client import bare, handshake, log_in, plain_token
from support.secure import PASSWORD

from .test_security import JAAS, connect, gateway_before, swap_with

ONE = records(1)
BATCH = build_batch(ONE, magic=2)
PROXY_HEADER = b"PROXY TCP4 192.0.2.7 192.0.2.2 1 2\r\n"


async def all_closed(gateway: Gateway) -> None:
    await until(lambda: not gateway._server.connection_count)


@pytest.mark.parametrize("settings", [{}, {"addresses": "single"}, {"proxy_protocol": "optional"}], ids=str)
@pytest.mark.parametrize("versions", [(7, 11), (7, 2)], ids=["passed", "translated"])
async def test_of_clients_that_close(tmp_path: Path, settings: dict[str, object], versions: tuple[int, int]) -> None:
    async with running_gateway(tmp_path, **settings) as stage:
        async with await stage.connect() as client:
            await create(client, "orders")
        await all_closed(stage.gateway)
        async with no_cycles_left():
            for _ in range(2):
                async with await stage.connect() as client:
                    if "proxy_protocol" in settings:
                        await client.send_raw(PROXY_HEADER)
                    await client.send(MetadataRequest(topics=()), 1)
                    await produce(client, "orders", BATCH, version=versions[0])
                    await fetched(client, fetch("orders"), versions[1])
            del client
            await all_closed(stage.gateway)


async def test_of_clients_whose_broker_hangs_up(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage, no_cycles_left():
        async with await stage.connect() as client:
            await client.send(MetadataRequest(topics=()), 1)
            stage.front.hang_up()
            assert await client.read_frame() is None
        del client
        await all_closed(stage.gateway)


@pytest.mark.parametrize("version", [11, 2], ids=["passed", "translated"])
async def test_of_clients_whose_broker_hangs_up_before_it_answers(tmp_path: Path, version: int) -> None:
    """Each client of a broker that was killed left its session to the garbage collector."""
    async with running_gateway(tmp_path) as stage:
        async with await stage.connect() as client:
            await create(client, "orders")
        await all_closed(stage.gateway)
        async with no_cycles_left():
            async with await stage.connect() as client:
                await client.send(MetadataRequest(topics=()), 1)
                asked = asyncio.ensure_future(client.send(fetch("orders", max_wait_ms=600_000, min_bytes=1), version))
                await until(lambda: len(stage.broker.fetch_purgatory) > 0)
                stage.front.hang_up()
                with pytest.raises(ConnectionError):
                    await asked
            del client, asked
            await all_closed(stage.gateway)


@pytest.mark.parametrize("version", [0, 1])
async def test_of_clients_that_log_in_by_tls(tmp_path: Path, version: int) -> None:
    authority = Authority(tmp_path, "own")
    own = {
        "security_protocol": "SASL_SSL",
        "sasl_enabled_mechanisms": "PLAIN",
        "listener_name_gateway_plain_sasl_jaas_config": JAAS,
        "ssl_keystore_type": "PEM",
        "ssl_keystore_location": authority.issue("gateway"),
    }
    trust = ssl.create_default_context(cafile=authority.file)
    async with gateway_before(tmp_path, "SASL_SSL", **own, **swap_with(PASSWORD)) as (gateway, _, _), no_cycles_left():
        async with await connect(gateway, trust) as client:
            if version:
                await log_in(client, "PLAIN")
            else:
                await handshake(client, "PLAIN", 0)
                assert await bare(client, plain_token()) == b""
            await client.send(MetadataRequest(topics=()), 1)
        del client
        await all_closed(gateway)
