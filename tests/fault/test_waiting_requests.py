"""Requests that wait for other clients kept the memory of their frames: 48 JoinGroups of 1 MB, or as many long fetches,
stopped every request of more than 32 KiB for as long as they said themselves, days if they liked.
"""

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from stepdown.bench.servers.admin_connection import frame_of
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.broker import Stepdown
from support.hostile.client import asked, connected

TOPIC = "idle"
MEMORY_BYTES = 1_000_000
WAITING = 8
FRAME_BYTES = 200_000
DAYS_MS = 2_000_000_000
SETTINGS = {
    "stepdown.request.memory.bytes": str(MEMORY_BYTES),
    "group.initial.rebalance.delay.ms": str(DAYS_MS),
}


def join_group(number: int) -> bytes:
    protocol = JoinGroupRequestProtocol(name="range", metadata=bytes(FRAME_BYTES))
    request = JoinGroupRequest(
        group_id=f"group-{number}",
        session_timeout_ms=60_000,
        rebalance_timeout_ms=DAYS_MS,
        member_id="",
        protocol_type="consumer",
        protocols=(protocol,),
    )
    return frame_of(request, 3)


def long_fetch(number: int) -> bytes:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=DAYS_MS,
        min_bytes=1,
        session_id=0,
        session_epoch=-1,
        topics=(FetchTopic(topic=TOPIC, partitions=(partition,)),),
        forgotten_topics_data=tuple(ForgottenTopic(topic="x" * 20_000, partitions=()) for _ in range(10)),
    )
    return frame_of(request, 11)


def many_names() -> bytes:
    return frame_of(MetadataRequest(topics=[MetadataRequestTopic(name="x" * 200) for _ in range(300)]), 1)


def send(sock: socket.socket, data: Any) -> None:
    sock.sendall(data)


@pytest.mark.parametrize("waiting", [join_group, long_fetch])
def test_a_large_request_is_answered_while_others_wait(waiting: Any, tmp_path: Path) -> None:
    with Stepdown(tmp_path, properties=SETTINGS) as broker, ExitStack() as opened:
        broker.create_topic(TOPIC)
        with connected(broker.address) as sock:
            asked(sock, frame_of(FindCoordinatorRequest(key="group"), 0))
        for number in range(WAITING):
            send(opened.enter_context(connected(broker.address)), waiting(number))
        with connected(broker.address) as sock:
            asked(sock, many_names())
        assert "Traceback" not in broker.log
