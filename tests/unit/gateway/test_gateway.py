"""What passes through the gateway, what it changes, and what it refuses."""

import asyncio
import socket
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from stepdown.gateway.cluster_watch import RETRY_MS
from stepdown.gateway.request_frame import drop_cluster_and_node_id, read_software_text
from stepdown.network.page.page_query import PageQuery
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.records.builder import build_batch
from support.brokers import running_cluster
from support.clock import ManualClock
from support.fetching import create, fetch, fetched, produce, records
from support.gateway import gateway_to, running_gateway, started
from support.running import running_broker, until

TRANSLATED = {0: 0, 1: 0, 2: 0, 8: 0, 9: 0, 11: 0, 19: 0, 20: 0, 23: 0, 29: 0, 30: 0, 31: 0, 32: 0, 34: 0, 35: 0}


@pytest.mark.parametrize("version", [0, 2, 3, 4])
async def test_a_client_is_offered_what_is_translated(tmp_path: Path, version: int) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        answer = await client.send(asked, version)
        offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        assert {key: offered[key][0] for key in TRANSLATED} == TRANSLATED
        assert offered[1] == (0, 17)


async def test_api_versions_of_a_version_that_nobody_knows_is_answered(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        await client.send_raw(bytes.fromhex("0000000a 0012 0063 00000007 0000".replace(" ", "")))
        assert await client.read_frame() == bytes.fromhex("00000007 0023 00000001 0012 0000 0004".replace(" ", ""))


@pytest.mark.parametrize("version", range(13))
async def test_metadata_names_the_gateway_in_place_of_the_broker(tmp_path: Path, version: int) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders", 3)
        answer = await client.send(MetadataRequest(topics=None if version else ()), version)
        direct = await own.send(MetadataRequest(topics=None if version else ()), version)
        (broker,) = answer.brokers
        assert (broker.host, broker.port) == ("127.0.0.1", stage.gateway.ports.ports[broker.node_id])
        assert answer.topics == direct.topics
        assert [each.rack for each in answer.brokers] == [each.rack for each in direct.brokers]


@pytest.mark.parametrize("version", range(7))
async def test_a_coordinator_is_named_at_the_gateway(tmp_path: Path, version: int) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        request = FindCoordinatorRequest(coordinator_keys=("g",)) if version >= 4 else FindCoordinatorRequest(key="g")
        answer = await client.send(request, version)
        found = answer.coordinators[0] if version >= 4 else answer
        assert found.error_code or found.port == stage.gateway.ports.ports[found.node_id]


async def test_a_broker_is_served_at_its_own_port(tmp_path: Path) -> None:
    from support.client import RawClient

    async with running_gateway(tmp_path) as stage:
        (port,) = stage.gateway.ports.ports.values()
        async with await RawClient.connect("127.0.0.1", port) as client:
            assert (await client.send(MetadataRequest(topics=()), 1)).brokers[0].port == port


@pytest.mark.parametrize("version", [4, 7, 12, 15])
async def test_a_fetch_passes_byte_for_byte(tmp_path: Path, version: int) -> None:
    """Larger than what is read before the first byte is sent."""
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        for first in range(0, 300, 100):
            await produce(own, "orders", build_batch(records(100, 1000, first=first)))
        topic = (await own.send(MetadataRequest(topics=None), 12)).topics[0]
        request = fetch("orders")
        if version >= 13:
            request = replace(request, topics=[replace(request.topics[0], topic_id=topic.topic_id)])
        through, direct = await fetched(client, request, version), await fetched(own, request, version)
        assert through == direct
        assert len(through.records) > 300_000


async def test_a_produce_without_answer_is_followed_by_others(tmp_path: Path) -> None:
    """A gateway that waits for its answer would wait for ever."""
    from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

    async with running_gateway(tmp_path) as stage, await stage.connect_to_broker() as own:
        await create(own, "orders")
        gateway = gateway_to(str(stage.broker.address))
        async with started(gateway):
            from support.client import RawClient

            async with await RawClient.connect("127.0.0.1", gateway.address.port) as client:
                data = PartitionProduceData(index=0, records=build_batch(records(1)))
                topic = TopicProduceData(name="orders", partition_data=(data,))
                for version in (3, 7, 9, 11):
                    await client.begin(ProduceRequest(acks=0, timeout_ms=1000, topic_data=(topic,)), version)
                assert (await fetched(client, fetch("orders", min_bytes=1, max_wait_ms=500), 4)).high_watermark > 0


async def test_a_version_that_is_not_offered_ends_the_connection_with_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        await client.send_raw(
            client.frame(HeartbeatRequest(group_id="g"), 4).replace(b"\0\x0c\0\x04", b"\0\x0c\0\x63", 1)
        )
        assert await client.read_frame() is None
    assert "Heartbeat 99 is asked, 0 to 4 are offered" in caplog.text


async def test_a_client_is_closed_with_the_broker_behind_it(tmp_path: Path) -> None:
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        await client.send(MetadataRequest(topics=()), 1)
        stage.front.hang_up()
        assert await client.read_frame() is None


async def test_a_cluster_that_is_not_there_is_named(caplog: pytest.LogCaptureFixture) -> None:
    from support.client import RawClient

    gateway = gateway_to("127.0.0.1:1")
    try:
        assert "127.0.0.1:1" in await gateway.start()
        async with await RawClient.connect("127.0.0.1", gateway.address.port) as client:
            await client.send_raw(client.frame(MetadataRequest(topics=()), 1))
            assert await client.read_frame() is None
    finally:
        await gateway.stop(drain_ms=0)
    assert "the cluster cannot be reached" in caplog.text


async def test_the_pages_tell_what_passed_and_who_is_there(tmp_path: Path) -> None:
    import json
    from urllib.request import urlopen

    def get(path: str) -> str:
        with urlopen(f"http://{stage.gateway.http_address}{path}") as answer:
            text: str = answer.read().decode()
            return text

    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        await client.send(fetch("none"), 1)
        await client.send(fetch("none"), 4)
        shown = await asyncio.to_thread(get, "/metrics")
        assert 'stepdown_gateway_requests_total{api="Fetch",sent_as="4",version="1"} 1.0' in shown
        assert 'stepdown_gateway_requests_total{api="Fetch",sent_as="4",version="4"} 1.0' in shown
        assert 'stepdown_gateway_connections{listener="bootstrap"} 1.0' in shown
        assert await asyncio.to_thread(get, "/healthz") == "alive\n"
        assert await asyncio.to_thread(get, "/readyz") == "ready\n"
        (row,) = json.loads(await asyncio.to_thread(get, "/clients"))["clients"]
        assert row["translated"] == {"Fetch 1 as 4": 1}
        page = (Path(__file__).parents[3] / "docs" / "gateway.md").read_text()
        names = {line.split("{")[0].split(" ")[2] for line in shown.splitlines() if line.startswith("# TYPE ")}
        missing = {
            name for name in names if name not in page and f"…{name.removeprefix('stepdown_gateway')}" not in page
        }
        assert "`process_…`" in page
        assert {name for name in missing if not name.startswith("process_") and not name.endswith("_created")} == set()


def ask_versions(version: int, cluster: bytes = b"\x03id", node: int = 9) -> bytes:
    """An ApiVersions request of v5 and its likes, which name a cluster and a broker."""
    body = b"\x05test\x021" + cluster + node.to_bytes(4, "big", signed=True) + b"\0"
    frame = struct.pack(">hhih", 18, version, 7, 1) + b"c\0" + body
    return struct.pack(">i", len(frame)) + frame


def test_a_request_for_versions_forgets_which_broker_it_is_for() -> None:
    frame = memoryview(ask_versions(5)[4:])
    assert bytes(drop_cluster_and_node_id(frame)) == ask_versions(5, b"\0", -1)[4:]
    assert read_software_text(frame) == ("test", "1")
    with pytest.raises(MalformedFrame):
        drop_cluster_and_node_id(frame[:-15])


async def test_newer_versions_for_versions_than_the_cluster_has_are_not_offered(tmp_path: Path) -> None:
    """ApiVersions 5 was told to be there before clusters that end at 4."""
    async with running_gateway(tmp_path) as stage, await stage.connect() as client:
        await client.send_raw(ask_versions(5))
        assert await client.read_frame() == bytes.fromhex("00000007 0023 00000001 0012 0000 0004".replace(" ", ""))


@pytest.mark.parametrize("version", [16, 17])
async def test_a_fetch_that_would_name_brokers_is_sent_in_a_version_without_them(tmp_path: Path, version: int) -> None:
    async with (
        running_gateway(tmp_path) as stage,
        await stage.connect() as client,
        await stage.connect_to_broker() as own,
    ):
        await create(own, "orders")
        await produce(own, "orders", build_batch(records(3)))
        topic = (await own.send(MetadataRequest(topics=None), 12)).topics[0]
        request = fetch("orders")
        by_id = replace(request, topics=[replace(request.topics[0], topic_id=topic.topic_id)])
        answer, direct = await client.send(by_id, version), await own.send(by_id, version)
        assert bytes(answer.responses[0].partitions[0].records) == bytes(direct.responses[0].partitions[0].records)
        assert replace(answer, responses=()) == replace(direct, responses=())
        assert stage.gateway.metrics.requests.of("Fetch", str(version), "15").value == 1


async def test_rules_of_the_cluster_that_name_hosts_are_named_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authorizer = {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super_users": "User:ANONYMOUS",
    }
    async with running_gateway(tmp_path, authorizer) as stage, await stage.connect_to_broker() as own:
        for host in ("*", "10.1.2.3"):
            rule = AclCreation(
                resource_type=2, resource_name="orders", principal="User:old", host=host, operation=3, permission_type=3
            )
            answer = await own.send(CreateAclsRequest(creations=[rule]), 3)
            assert answer.results[0].error_code == 0
        assert "that name hosts" not in caplog.text  # there were none when it started
        async with started(gateway_to(str(stage.broker.address))):
            await until(lambda: "that name hosts" in caplog.text)
    assert "ACLs of the cluster that name hosts: 1, such as User:old from 10.1.2.3; clients" in caplog.text


async def test_a_gateway_without_any_broker_names_each_of_them() -> None:
    """It named the last one alone."""
    with socket.socket() as one, socket.socket() as other:
        for each in (one, other):
            each.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in (one, other)]
        gateway = gateway_to(",".join(addresses))
        try:
            why = await gateway.start()
        finally:
            await gateway.stop()
    assert why == f"no broker answers at {', '.join(addresses)}: Connection refused"


async def test_a_gateway_whose_cluster_is_gone_says_since_when_and_why() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        clock = ManualClock()
        gateway = gateway_to(address, clock)
        try:
            why = await gateway.start()
            assert why == f"no broker answers at {address}: Connection refused"
            told = (await gateway.readiness_page()).body.decode()
            assert told == f"not ready: no broker of the cluster has answered yet: {why}\n"
            gateway.upstream.answered_ms = clock.monotonic_ms() - 75_000
            told = (await gateway.readiness_page()).body.decode()
            assert told == f"not ready: no broker of the cluster has answered for 75 s: {why}\n"
        finally:
            await gateway.stop(drain_ms=0)


async def test_a_cluster_that_answers_again_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """That it did not was logged, and not that it did; then a cluster that had never answered "answers again"."""
    caplog.set_level("INFO")
    clock = ManualClock()
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        gateway = gateway_to(f"127.0.0.1:{port}", clock)
        assert await gateway.start()
    try:
        async with running_broker(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}"):
            await clock.advance(gateway.settings.refresh_ms)
            await until(lambda: "the cluster answers" in caplog.text)
        assert "again" not in caplog.text  # it had not answered before
        await clock.advance(gateway.settings.refresh_ms)
        await until(lambda: "the cluster does not answer" in caplog.text)
        async with running_broker(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}"):
            await clock.advance(RETRY_MS)
            await until(lambda: "the cluster answers again" in caplog.text)
    finally:
        await gateway.stop(drain_ms=0)


async def test_a_gateway_is_not_ready_while_no_broker_answers(tmp_path: Path) -> None:
    """It was ready through the whole outage of the cluster, with a fault in red on its page."""

    async def is_ready() -> tuple[int, bool, list[str]]:
        overview = await gateway.views.overview(PageQuery(""))
        names = [name for each in overview["problems"] for name in each["names"]]
        return (await gateway.readiness_page()).status, overview["is_ready"], names

    clock = ManualClock()
    async with (
        running_cluster(tmp_path) as cluster,
        started(gateway_to(str(cluster.brokers[2].address), clock)) as gateway,
    ):
        await cluster.kill_broker(2)  # one of three is no reason, though it is the bootstrap server
        await gateway.cluster_watch.refresh_brokers()
        assert await is_ready() == (200, True, [])
        for broker in (1, 3):
            await cluster.kill_broker(broker)
        await clock.advance(gateway.settings.refresh_ms)
        await until(lambda: bool(gateway.cluster_watch.find_fault()))
        status, shown, names = await is_ready()
        assert (status, shown, len(names)) == (503, False, 1), names
        assert names[0].startswith("no broker of the cluster has answered for 10 s: no broker answers at 127.0.0.1:")
        await cluster.start_broker(3)
        await clock.advance(RETRY_MS)
        await until(lambda: not gateway.cluster_watch.find_fault())
        assert await is_ready() == (200, True, [])
