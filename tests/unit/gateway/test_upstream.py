"""What a gateway says of an upstream that is itself, that leads back to it, or that is silent."""

import asyncio
import signal
import socket
import struct
import subprocess
import sys
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from stepdown.gateway.cluster_watch import FIRST_ANSWER_MS
from stepdown.gateway.gateways_in_front import MOST_GATEWAYS
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.gateway import gateway_to, running_gateway, started
from support.http_page import get
from support.running import running_broker, until


def list_free_addresses(count: int) -> list[str]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]


async def test_a_gateway_before_itself_says_so_at_once() -> None:
    """It connected to itself until no descriptor was left, and never answered by HTTP."""
    (address,) = list_free_addresses(1)
    gateway = gateway_to(address, listen=address)
    try:
        assert await gateway.start() == f"{address} leads back to this gateway"
        told = await get(gateway.http_address, "/readyz")
        assert (told.status, b"leads back to this gateway" in told.body) == (503, True)
    finally:
        await gateway.stop(drain_ms=0)


async def test_a_gateway_whose_broker_leads_back_to_it_is_not_ready(tmp_path: Path) -> None:
    """Each client was closed at the port of that broker, and the gateway stayed ready."""
    (address,) = list_free_addresses(1)
    async with (
        running_broker(tmp_path, advertised_listeners=f"PLAINTEXT://{address}") as broker,
        started(gateway_to(str(broker.address), listen=address)) as gateway,
    ):
        ((node_id, port),) = gateway.ports.ports.items()
        async with await RawClient.connect("127.0.0.1", port) as client:
            await client.send_raw(client.frame(ApiVersionsRequest(), 0))
            assert await client.read_frame() is None
        told = f"not ready: {address} leads back to this gateway; it is in advertised.listeners of broker {node_id}\n"
        page = await gateway.readiness_page()
        assert (page.status, page.body.decode()) == (503, told)
        moved = MetadataResponseBroker(node_id=node_id, host=broker.address.host, port=broker.address.port)
        gateway.upstream.learn_brokers(MetadataResponse(brokers=(moved,)))
        assert (await gateway.readiness_page()).status == 200


async def test_gateways_that_lead_to_each_other_say_so() -> None:
    """Each asked the other for what that one asked it for, in one connection after the other."""
    one, other = list_free_addresses(2)
    gateways = gateway_to(other, listen=one), gateway_to(one, listen=other)
    try:
        assert "Connection refused" in await gateways[0].start()
        assert await gateways[1].start() == f"{one} is a gateway whose cluster does not answer"
    finally:
        for each in gateways:
            await each.stop(drain_ms=0)


async def test_gateways_that_lead_to_each_other_have_no_answer_when_their_cluster_has_gone(tmp_path: Path) -> None:
    """They had been answered before, so each asked the other for ever: 20,000 connections, and both were ready."""
    one, other = list_free_addresses(2)
    async with AsyncExitStack() as running:
        async with running_gateway(tmp_path) as stage:
            cluster = f"127.0.0.1:{stage.front.port}"
            gateways = [
                await running.enter_async_context(started(gateway_to(f"{cluster},{there}", listen=here)))
                for here, there in ((one, other), (other, one))
            ]
        for each in gateways:
            each.upstream.forget_all_versions()
            assert "is a gateway whose cluster does not answer" in await each.cluster_watch.refresh_brokers()


async def test_a_question_that_came_through_many_gateways_is_refused(tmp_path: Path) -> None:
    """Ids of gateways in a client id are text of a client, of any length."""
    ids = "-0123abcd" * (MOST_GATEWAYS + 1)
    async with running_gateway(tmp_path) as stage:
        for client_id, code in ((f"stepdown-gateway{ids[9:]}", 0), (f"stepdown-gateway{ids}", 8), (f"x{ids}", 0)):
            async with await RawClient.connect("127.0.0.1", stage.gateway.address.port, client_id=client_id) as client:
                assert (await client.send(ApiVersionsRequest(), 0)).error_code == code


async def test_a_gateway_before_a_gateway_is_known_by_name(tmp_path: Path) -> None:
    """It was an unknown client, and the cluster behind one was "before Kafka 4"."""
    async with running_gateway(tmp_path) as stage, started(gateway_to(str(stage.gateway.address))) as front:
        async with await RawClient.connect("127.0.0.1", front.address.port) as client:
            named = await client.send(MetadataRequest(topics=()), 1)
        assert [each.port for each in named.brokers] == list(front.ports.ports.values())
        assert front.release == "before Kafka 4, or a gateway"
        rows = (await get(stage.gateway.http_address, "/clients")).json()["clients"]
        assert "stepdown-gateway" in {each["software"] for each in rows}


async def test_the_port_of_a_controller_is_called_so() -> None:
    """It was closed on every request, and the gateway asked whether it wants TLS."""
    versions = struct.pack(">hi", 0, 2) + struct.pack(">hhh", 1, 0, 16) + struct.pack(">hhh", 18, 0, 4)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frame = await reader.readexactly(struct.unpack(">i", await reader.readexactly(4))[0])
        writer.write(struct.pack(">i", 4 + len(versions)) + frame[4:8] + versions)
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as controller:
        address = f"127.0.0.1:{controller.sockets[0].getsockname()[1]}"
        gateway = gateway_to(address)
        try:
            assert await gateway.start() == f"{address} does not answer Metadata: it may be the port of a controller"
        finally:
            await gateway.stop(drain_ms=0)


async def test_a_silent_upstream_delays_neither_http_nor_the_first_line() -> None:
    """Nothing was printed for half a minute, and nobody answered by HTTP meanwhile."""
    clock = ManualClock()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = gateway_to(f"127.0.0.1:{silent.getsockname()[1]}", clock)
        starting = asyncio.create_task(gateway.start())
        try:
            await until(lambda: bool(gateway.http_address.port))
            assert (await get(gateway.http_address, "/healthz")).status == 200
            told = await get(gateway.http_address, "/readyz")
            assert (told.status, b"it is being asked" in told.body) == (503, True)
            await clock.advance(FIRST_ANSWER_MS)
            assert await starting == "no answer within 3 s; it is still being asked"
        finally:
            await gateway.stop(drain_ms=0)


async def test_a_worker_does_not_wait_for_a_cluster_that_another_one_has_waited_for() -> None:
    """The first line of a gateway with two workers came after 6 s."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gateway = gateway_to(f"127.0.0.1:{silent.getsockname()[1]}", ManualClock())
        try:
            assert await gateway.start(known_fault="it is silent") == "it is silent"
        finally:
            await gateway.stop(drain_ms=0)


def test_a_gateway_that_waits_for_its_upstream_ends_when_it_is_told_to() -> None:
    """SIGTERM was obeyed when the upstream had been silent for half a minute."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(DEADLINE_S)
        upstream = f"127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "stepdown", "gateway", "--upstream", upstream, "--listen", "127.0.0.1:0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process, silent.accept()[0]:
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (0, b"")


HANGING_RESOLVER = """
import socket, sys, threading
from stepdown.cli.main import main
look_up = socket.getaddrinfo
def hang(host, *rest, **more):
    if host != "hangs.example":
        return look_up(host, *rest, **more)
    print("looking up", flush=True)
    threading.Event().wait()
socket.getaddrinfo = hang
sys.argv[1:] = ["gateway", "--upstream", "hangs.example:9092", "--listen", "127.0.0.1:0"]
main()
"""


def test_a_gateway_whose_resolver_hangs_ends_when_it_is_told_to() -> None:
    """SIGTERM was obeyed when the resolver had given up: 22 s later."""
    with subprocess.Popen([sys.executable, "-c", HANGING_RESOLVER], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"looking up\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0


async def test_a_gateway_all_of_whose_brokers_take_no_connections_is_not_ready(tmp_path: Path) -> None:
    """It was ready until it asked the cluster again, though it had closed the ports of all brokers."""
    async with running_gateway(tmp_path) as stage:
        (broker,) = stage.gateway.ports.ports
        stage.gateway.ports.close(broker)
        assert (await stage.gateway.readiness_page()).body == b"not ready: no broker of the cluster takes connections\n"
        assert stage.gateway.ports.reopen(broker)
        assert (await stage.gateway.readiness_page()).body == b"ready\n"
