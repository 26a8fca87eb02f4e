"""What a broker keeps by a name that a client chose was limited in entries, not in bytes: for names of 32 kB pending
members of groups held 570 MB, quotas 310 MB, fetch sessions all that was sent, connections three names each.
"""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from stepdown.bench.servers.process import ProcessUsage
from stepdown.protocol.api import spec_of_request
from stepdown.protocol.frame import encode_request
from stepdown.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.metadata import MetadataRequest
from support.broker import Stepdown
from support.hostile.client import asked, connected

LENGTH = 32_000
GROWTH_BYTES = 32 << 20
SENT_BYTES = 96 << 20


def name(number: int) -> str:
    return f"{number}".ljust(LENGTH, "x")


def frame(request: Any, version: int, client_id: str = "long-names") -> bytes:
    return b"".join(encode_request(spec_of_request(request), version, 1, client_id, request))  # type: ignore[arg-type]


def join_group(sock: socket.socket, number: int) -> int:
    """The member id that is handed out has the client id in it."""
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    request = JoinGroupRequest(
        group_id=name(number),
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=(protocol,),
    )
    return send(sock, frame(request, 6, name(number)))


def ask_under_a_quota(sock: socket.socket, number: int) -> int:
    if number == 0:
        everybody = EntityData(entity_type="client-id", entity_name=None)
        rate = OpData(key="request_percentage", value=1e6, remove=False)
        send(sock, frame(AlterClientQuotasRequest(entries=(EntryData(entity=(everybody,), ops=(rate,)),)), 1))
    return send(sock, frame(MetadataRequest(topics=()), 1, name(number)))


def fetch_with_a_session(sock: socket.socket, number: int) -> int:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    topics = [FetchTopic(topic=name(100 * number + each), partitions=(partition,)) for each in range(100)]
    request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, session_id=0, session_epoch=0, topics=topics)
    return send(sock, frame(request, 12))


def send(sock: socket.socket, data: bytes) -> int:
    asked(sock, data)
    return len(data)


@pytest.mark.parametrize("ask", [join_group, ask_under_a_quota, fetch_with_a_session])
def test_requests_with_long_names_leave_little_behind(ask: Callable[[socket.socket, int], int], tmp_path: Path) -> None:
    with Stepdown(tmp_path) as broker, connected(broker.address) as sock:
        ask(sock, 0)
        before, sent, number = ProcessUsage(broker.pid).rss_bytes(), 0, 0
        while sent < SENT_BYTES:
            number += 1
            sent += ask(sock, number)
        assert ProcessUsage(broker.pid).rss_bytes() - before <= GROWTH_BYTES


def test_connections_that_have_named_their_software_hold_little_of_it(tmp_path: Path) -> None:
    with Stepdown(tmp_path) as broker, ExitStack() as opened:
        before = ProcessUsage(broker.pid).rss_bytes()
        for number in range(SENT_BYTES // LENGTH // 3):
            sock = opened.enter_context(connected(broker.address))
            software = ApiVersionsRequest(
                client_software_name="a" * LENGTH, client_software_version=name(number).replace("x", "0")
            )
            asked(sock, frame(software, 3, name(number)))
        assert ProcessUsage(broker.pid).rss_bytes() - before <= 2 * GROWTH_BYTES
