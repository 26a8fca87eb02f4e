"""A broker whose port cannot be had is what is wrong with a gateway."""

import socket
from pathlib import Path

from stepdown.cli.gateway.command_line import make_greeting
from support.gateway import gateway_to, started
from support.http_page import get_json
from support.running import running_broker


async def test_a_gateway_without_the_port_of_a_broker_is_not_ready_until_it_has_it(tmp_path: Path) -> None:
    """It was ready, and nothing was wrong, while no client could reach that broker."""
    async with running_broker(tmp_path) as broker:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            gateway = gateway_to(str(broker.address), first_port=port - broker.cluster.node_id)
            async with started(gateway):
                why = (
                    f"cannot listen on port {port} for broker {broker.cluster.node_id}: Address already in use; "
                    "set first.port to ports that are free, or end what listens there"
                )
                page = await gateway.readiness_page()
                assert (page.status, page.body.decode()) == (503, f"not ready: {why}\n")
                (problem,) = (await get_json(gateway.http_address, "overview"))["problems"]
                assert problem["names"] == [why]
                assert problem["help"].startswith("first.port")  # it named upstream.*
                taken.close()
                await gateway.cluster_watch.refresh_brokers()
                assert (await gateway.readiness_page()).status == 200


async def test_the_first_line_says_that_a_broker_has_no_port(tmp_path: Path) -> None:
    """It read like that of a gateway through which each broker is reached."""
    async with running_broker(tmp_path) as broker:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            async with started(gateway_to(str(broker.address), first_port=port - broker.cluster.node_id)) as gateway:
                line = make_greeting(gateway, "")
                assert f"; not ready: cannot listen on port {port} for broker {broker.cluster.node_id}: " in line
        async with started(gateway_to(str(broker.address), first_port=0)) as gateway:
            assert "not ready" not in make_greeting(gateway, "")
