"""What a failed test shows of clients that come to nothing: the reason, not thirty lines of it."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from stepdown.broker.faults.event_log import OtherEvent, time_line
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.sync_group import SyncGroupRequest
from stepdown.testing import AsyncKafka, Kafka, running
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.transactions import TransactionalClient

FETCH = FetchRequest(
    max_wait_ms=90_000,
    min_bytes=1,
    topics=(FetchTopic(topic="orders", partitions=(FetchPartition(partition=0, partition_max_bytes=1000),)),),
)


def _last_lines(kafka: Kafka) -> list[str]:
    return list(kafka.control.ask("GET", "events/last")["lines"])


def test_lines_that_alternate_are_counted() -> None:
    """A client that tried again and again with two requests was thirty lines."""
    names = ["begin", *["handshake", "versions"] * 20, "handshake", "end"]
    lines = time_line(OtherEvent(at_ms=0, line=name) for name in names)
    assert [line.partition(" s  ")[2] for line in lines] == [
        "begin",
        "handshake (20 times)",
        "versions (20 times)",
        "handshake",
        "end",
    ]


def test_a_login_at_a_listener_without_one_is_explained() -> None:
    """ILLEGAL_SASL_STATE said nothing of the listener."""
    confluent = pytest.importorskip("confluent_kafka")
    with running() as kafka:
        settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        login = {"sasl.username": "alice", "sasl.password": "secret"}
        producer = confluent.Producer({"bootstrap.servers": kafka.bootstrap, **settings, **login})
        while not kafka.requests.of("SaslHandshake"):
            producer.poll(0.02)
        told = "ILLEGAL_SASL_STATE (this listener asks for no login: @pytest.mark.kafka(security=…)"
        while not any(told in line for line in _last_lines(kafka)):
            producer.poll(0.02)


def test_a_client_with_tls_is_there() -> None:
    """Nothing was shown at all where a client spoke TLS at a listener in plaintext."""
    with running() as kafka:
        host, port = kafka.bootstrap.split(":")
        with socket.create_connection((host, int(port))) as client, suppress(ConnectionError):
            client.sendall(bytes.fromhex("160301020001000001fc0303") + bytes(500))
            while client.recv(1000):
                pass
        assert any("TLS comes where a frame begins, and is not spoken here" in line for line in _last_lines(kafka))


def test_a_clock_that_stands_is_told_last() -> None:
    """It was said where it was stopped, if at all: many lines above the request that waited."""
    with running() as kafka:
        kafka.clock.pause()
        assert _last_lines(kafka)[-1].startswith("The clock stands: what waits for time to pass")
        kafka.clock.resume()
        assert not _last_lines(kafka)[-1].startswith("The clock stands")


def test_the_offset_that_was_answered_is_shown() -> None:
    """ListOffsets was "ok", whatever offset the consumer began at; then with it, but not with what was asked for."""
    with running(topics={"orders": 1}) as kafka:
        kafka.produce("orders", "x", "y")
        confluent = pytest.importorskip("confluent_kafka")
        consumer = confluent.Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
        assert consumer.get_watermark_offsets(confluent.TopicPartition("orders", 0), timeout=DEADLINE_S) == (0, 2)
        consumer.offsets_for_times([confluent.TopicPartition("orders", 0, 1_700_000_000_123)], timeout=DEADLINE_S)
        consumer.close()
        notes = {request.line.partition(": ok ")[2] for request in kafka.requests.of("ListOffsets")}
        assert notes >= {
            "(orders-0 earliest at 0)",
            "(orders-0 latest at 2)",
            "(orders-0 from 2023-11-14T22:13:20.123Z at 0)",
        }


def test_a_group_of_the_new_protocol_is_told_what_it_needs() -> None:
    """UNSUPPORTED_VERSION said nothing of act_as."""
    with running(topics={"orders": 1}) as kafka:
        confluent = pytest.importorskip("confluent_kafka")
        settings = {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "group.protocol": "consumer"}
        consumer = confluent.Consumer(settings)
        consumer.subscribe(["orders"])
        while not any("KIP-848 is off here: act_as='4.0'" in line for line in _last_lines(kafka)):
            with suppress(confluent.KafkaException):
                consumer.poll(0.02)
        consumer.close()


@asynccontextmanager
async def _client_of(kafka: AsyncKafka) -> AsyncIterator[RawClient]:
    host, port = kafka.bootstrap.split(":")
    async with await RawClient.connect(host, int(port)) as client:
        yield client


async def _await_line(kafka: AsyncKafka, api: str, ending: str) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not any(each.line.endswith(ending) for each in await kafka.requests.of(api)):
            pass


async def test_a_fetch_that_waits_says_for_what() -> None:
    """It was "no answer", as if the broker had failed."""
    async with running(topics={"orders": 1}) as kafka, _client_of(kafka) as client:
        await client.begin(FETCH, 11)
        await _await_line(kafka, "Fetch", "from raw: waits for records, at most 1 min 30 s")
        await kafka.produce("orders", b"x")
        await client.read_frame()
        assert [each.line for each in await kafka.requests.of("Fetch")] == ["broker 1 Fetch v11 of orders from raw: ok"]


async def test_members_that_wait_say_for_what() -> None:
    """JoinGroup and SyncGroup were "no answer" while other members were late."""
    async with running() as kafka, _client_of(kafka) as first, _client_of(kafka) as second:
        join: dict[str, Any] = {"session_timeout_ms": 45_000, "rebalance_timeout_ms": 300_000, "member_id": ""}
        join |= {"group_id": "shop", "protocol_type": "consumer"}
        request = JoinGroupRequest(protocols=(JoinGroupRequestProtocol(name="range", metadata=b""),), **join)
        leader = await first.send(request, 3)
        await second.begin(request, 3)
        await _await_line(kafka, "JoinGroup", "from raw: waits for the other members of the group")
        again = await first.begin(JoinGroupRequest(**{**_fields(request), "member_id": leader.member_id}), 3)
        await first.finish(request, 3, again)
        joined = await second.finish(request, 3, 1)
        sync = SyncGroupRequest(group_id="shop", generation_id=joined.generation_id, member_id=joined.member_id)
        await second.begin(sync, 3)
        await _await_line(kafka, "SyncGroup", "waits for the assignment, which the leader of the group sends")


def _fields(request: Any) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__dataclass_fields__}


async def test_what_a_fault_or_a_paused_broker_holds_is_not_answered_yet() -> None:
    """It was "no answer" before its time was over."""
    async with running(topics={"orders": 1}) as kafka, _client_of(kafka) as client:
        fault = await kafka.faults.hold("Fetch")
        await client.begin(FETCH, 11)
        await _await_line(kafka, "Fetch", "from raw: not answered yet [fault 1]")
        await fault.release()
        await _await_line(kafka, "Fetch", "at most 1 min 30 s [fault 1]")
        await kafka.cluster.kill(1)
        await _await_line(kafka, "Fetch", "from raw: no answer [fault 1]")
        await kafka.cluster.start(1)
        await kafka.cluster.pause(1)
        async with _client_of(kafka) as other:
            await other.begin(FETCH, 11)
            await _await_line(kafka, "Fetch", "from raw: not answered yet")
            await kafka.cluster.resume(1)


def test_deletion_by_retention_is_shown() -> None:
    """Records were gone, and no line said why."""
    with running(topics={"orders": 1}, config={"log.retention.ms": "7d"}) as kafka:
        kafka.produce("orders", *"abcde")
        kafka.clock.advance("8d")
        moved, deleted = _last_lines(kafka)[-2:]
        assert moved.endswith("  the clock moves on by 8 d")
        assert "  orders-0: retention deleted records 0 to 4: the newest timestamp is 7 d " in deleted


def test_only_the_leader_tells_of_a_deletion() -> None:
    """Each replica would be a line."""
    with running(brokers=3, topics={"orders": 1}, config={"log.retention.ms": "7d"}) as kafka:
        kafka.produce("orders", *"abcde")
        kafka.clock.advance("8d")
        (told,) = [line for line in kafka.requests.lines() if "retention" in line]
        assert told.startswith("orders-0: retention deleted records 0 to 4: ")


async def test_a_transaction_that_times_out_is_there() -> None:
    """The transaction was gone after a move of the clock, and nothing said why."""
    async with running(topics={"orders": 1}) as kafka, _client_of(kafka) as client:
        producer = TransactionalClient(client)
        await producer.init()
        await producer.add("orders", 0)
        await kafka.clock.advance("80s")
        (told,) = [line for line in await _await_last_lines(kafka) if "transaction 't'" in line]
        assert re.search(r"transaction 't': open for 1 min \d+ s, its timeout is 1 min: aborted$", told)


async def test_a_deletion_by_retention_says_why() -> None:
    """It said what was deleted, and neither how old that was nor what the limit is."""
    async with running(topics={"orders": 1}, config={"log.retention.ms": "7d"}) as kafka:
        await kafka.produce("orders", b"paid", timestamp=await kafka.clock.now_ms() - 86_400_000)
        await kafka.clock.advance("6d")
        told = r"retention deleted records 0 to 0: the newest timestamp is 7 d.* before the brokers' time; .* is 7 d$"
        assert any(re.search(told, line) for line in await _await_last_lines(kafka))


async def _await_last_lines(kafka: AsyncKafka) -> list[str]:
    return list((await kafka.control.ask("GET", "events/last"))["lines"])
