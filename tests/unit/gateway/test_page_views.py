"""The page of a gateway has an overview, as a broker's is described, and the clients."""

from pathlib import Path

from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from support.client import RawClient
from support.fetching import create, fetch, produce, records
from support.gateway import running_gateway
from support.http_page import get, get_json
from support.page_openapi import check_answer


async def test_the_overview_says_what_passed_and_what_was_translated(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        await client.send(fetch("none"), 1)
        await client.send(fetch("none"), 4)
        found = await get_json(stage.gateway.http_address, "overview")
        check_answer("/api/overview", found)
        assert [(row["api"], row["count"]) for row in found["requests"]] == [("passed", 1), ("translated", 1)]
        assert (found["cluster_id"], found["is_ready"]) == (stage.gateway.upstream.cluster_id, True)
        assert found["counts"] == {"connections": 1, "clients": 1}
        assert found["kafka_4_refuses"] == 1
        assert found["problems"] == []
        listeners = [each["listeners"] for each in found["brokers"]]
        assert listeners[0] == {"bootstrap": str(stage.gateway.address)}
        assert len(listeners) == 1 + len(stage.gateway.ports.ports)


async def test_the_overview_counts_the_clients_that_kafka_4_refuses(tmp_path: Path) -> None:
    """Who had to be mended before the gateway could go was counted by `stepdown clients` alone."""
    async with running_gateway(tmp_path) as stage:
        for version in (1, 12):
            address = stage.gateway.address
            async with await RawClient.connect("127.0.0.1", address.port, client_id=f"v{version}") as client:
                await client.send(fetch("none"), version)
        found = await get_json(stage.gateway.http_address, "overview")
    assert (found["kafka_4_refuses"], found["counts"]["clients"]) == (1, 2)


async def test_the_overview_names_the_upstream_and_ports_that_are_closed(tmp_path: Path) -> None:
    """Where the cluster is was not shown, and a port that had been closed looked like the others."""
    async with running_gateway(tmp_path) as stage:
        (broker,) = stage.gateway.ports.ports
        stage.gateway.ports.close(broker)
        found = await get_json(stage.gateway.http_address, "overview")
        check_answer("/api/overview", found)
    assert found["upstream"] == f"127.0.0.1:{stage.front.port}"
    assert [each["id"] for each in found["brokers"] if each.get("is_closed")] == [broker]


async def test_its_clients_are_those_of_the_report(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        await client.send(fetch("none"), 1)
        found = await get_json(stage.gateway.http_address, "clients")
        check_answer("/api/clients", found)
        assert found["rows"][0]["translated"] == {"Fetch 1 as 4": 1}


async def test_it_has_no_topics_and_says_what_it_has(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage:
        answer = await get(stage.gateway.http_address, "/api/topics")
        page = await get(stage.gateway.http_address, "/")
        described = (await get(stage.gateway.http_address, "/api/openapi.json")).json()
    assert set(described["paths"]) == {"/api/overview", "/api/clients"}, "topics and records were described"
    assert (answer.status, answer.json()) == (
        404, {"error": "nothing at this path; there is /api/overview, /api/clients"},
    )  # fmt: skip
    assert b"page.js" in page.body


async def test_a_client_that_stands_still_at_zstd_is_what_is_wrong(tmp_path: Path) -> None:
    """kafka-node asked 300 times a second and got an error each time, and nothing was wrong."""
    async with running_gateway(tmp_path) as stage:
        async with await stage.connect_to_broker() as own:
            await create(own, "orders")
            await produce(own, "orders", build_batch(records(3), codec=Codec.ZSTD))
        address, found = stage.gateway.address, []
        async with await RawClient.connect("127.0.0.1", address.port, client_id="till") as client:
            for offset in (1, 0, 0):
                await client.send(fetch("orders", offset), 2)
                found.append((await get_json(stage.gateway.http_address, "overview"))["problems"])
    assert found[:2] == [[], []], "an error that the client has got past is no problem"
    ((problem,),) = found[2:]
    (name,) = problem["names"]
    assert name.startswith("till (unknown, as of Kafka 0.10.0 (guess)): orders-0 at offset 0, for ")
    assert "STEPDOWN_GATEWAY_STEPDOWN_DOWNCONVERSION_ZSTD=gzip, and restart the gateway" in problem["help"]
    assert (
        f"topics alter orders -c compression.type=gzip -b {stage.gateway.settings.cluster_for_commands}"
        in problem["help"]
    )


async def test_a_cluster_that_is_gone_is_what_is_wrong(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage:
        stage.gateway.upstream.answered_ms = None
        found = await get_json(stage.gateway.http_address, "overview")
    assert [each["names"] for each in found["problems"]] == [
        ["no broker of the cluster has answered yet: it is being asked"]
    ]
