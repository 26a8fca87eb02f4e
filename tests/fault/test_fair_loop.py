"""One client that sends all that it can: the others go on being answered, nobody is expelled, the broker does not grow.

What is sent, and what Kafka makes of it: docs/limits.md. How long others wait is measured by `make times`; that they
have their turns between its requests and within one of them is held by test_fair_order.py.
"""

import resource
import socket
import struct
from contextlib import ExitStack
from pathlib import Path

import pytest
from stepdown.bench.servers.admin_connection import Connection, frame_of
from stepdown.bench.servers.process import wait_until
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.describe_groups import DescribeGroupsRequest
from stepdown.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from stepdown.protocol.messages.list_groups import ListGroupsRequest
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.broker import Stepdown
from support.deadline import DEADLINE_S
from support.hostile.attacks import many_coordinators
from support.hostile.client import asked, connected, half_frame_of
from support.hostile.rows import ROWS, Row, felt

SETTINGS = {"group.initial.rebalance.delay.ms": "0"}
PROBE_S = 2
GROWTH_BYTES = 64 << 20
QUICK = (
    "pipelined_api_versions",
    "pipelined_produce",
    "the_broker_20000_times",
    "tagged_fields_in_the_body",
    "coordinators_within_the_limit",
    "half_frames",
    "old_messages_of_the_wrong_kind",
    "old_fetches_of_small_batches",
)
"""Of the rows; the others are marked slow."""


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.name, marks=() if row.name in QUICK else pytest.mark.slow) for row in ROWS]
)
def test_others_are_answered_while_a_client_sends_all_that_it_can(row: Row, tmp_path: Path) -> None:
    with Stepdown(tmp_path, properties=SETTINGS) as broker:
        found = felt(row, broker, PROBE_S)
        assert found.waits_ms
        assert found.growth_bytes <= GROWTH_BYTES
        assert set(found.heartbeat_codes) <= {ErrorCode.NONE}
        assert "Traceback" not in broker.log


def test_a_large_request_is_answered_while_slow_ones_hold_its_memory(tmp_path: Path) -> None:
    """One waited for as long as five hundred that came a byte a second were there."""
    limits = {"stepdown.request.memory.bytes": "1000000"}
    with Stepdown(tmp_path, properties=limits) as broker, ExitStack() as opened:
        for _ in range(20):
            slow = opened.enter_context(connected(broker.address))
            slow.sendall(half_frame_of(400_000, 40_000))
        names = tuple(MetadataRequestTopic(name=f"n{number}") for number in range(50_000))
        honest = opened.enter_context(Connection(broker.address))
        request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        assert len(honest.call(request, 4).topics) == len(names)
        assert "stepdown.request.min.bytes.per.second" in broker.log


def test_a_request_of_too_many_items_is_refused_in_words(tmp_path: Path) -> None:
    with Stepdown(tmp_path) as broker:
        with connected(broker.address) as sock, pytest.raises(ConnectionResetError):
            asked(sock, many_coordinators(200_000))
        assert "FindCoordinator v4 request" in broker.log
        assert "stepdown.request.max.items" in broker.log
        election = ElectLeadersRequest(
            topic_partitions=(TopicPartitions(topic="t", partitions=tuple(range(6_000))),), timeout_ms=1
        )
        with Connection(broker.address) as connection:
            assert connection.call(election, 2).error_code == ErrorCode.INVALID_REQUEST


def test_a_request_larger_than_its_api_may_be_is_refused_when_it_begins(tmp_path: Path) -> None:
    with Stepdown(tmp_path) as broker, connected(broker.address) as sock:
        sock.sendall(struct.pack(">ihhih", 50_000_000, 3, 1, 1, -1) + bytes(40_000))
        sock.settimeout(DEADLINE_S)
        assert not at_end(sock)
        assert "Metadata request of 50000000 bytes" in broker.log
        assert "stepdown.request.max.bytes" in broker.log


def at_end(sock: socket.socket) -> bytes:
    try:
        return sock.recv(1)
    except ConnectionResetError:
        return b""


def test_connections_that_ask_nothing_make_room_for_those_that_do(tmp_path: Path) -> None:
    limits = {"stepdown.max.connections.before.request": "10"}
    with Stepdown(tmp_path, properties=limits) as broker, ExitStack() as opened:
        speaking = opened.enter_context(Connection(broker.address))
        assert speaking.call(MetadataRequest(topics=()), 1).brokers
        silent = [opened.enter_context(connected(broker.address)) for _ in range(12)]
        silent[0].settimeout(DEADLINE_S)
        assert not at_end(silent[0])
        assert speaking.call(MetadataRequest(topics=()), 1).brokers
        last = silent[-1]
        asked(last, frame_of(MetadataRequest(topics=()), 1))
        assert "stepdown.max.connections.before.request" in broker.log


def test_a_handler_is_read_when_clients_have_taken_all_descriptors(tmp_path: Path) -> None:
    """Its connection was closed without a word."""
    with Stepdown(tmp_path) as broker, ExitStack() as opened:
        resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (64, 64))
        first = opened.enter_context(Connection(broker.address))
        assert first.call(MetadataRequest(topics=()), 1).brokers
        for _ in range(64):
            opened.enter_context(connected(broker.address))
        wait_until(lambda: "cannot accept" in broker.log, "all descriptors are taken")
        assert first.call(ListGroupsRequest(), 2).error_code == ErrorCode.NONE
        assert first.call(DescribeGroupsRequest(groups=("g",)), 2).groups
