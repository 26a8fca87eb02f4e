"""How many functions of the product a request calls, in how many files: few, so that it is read and handled soon."""

import asyncio
import socket
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import stepdown
from stepdown.bench.servers.admin_connection import frame_of
from stepdown.broker.broker import Broker
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.running import running_broker

ROOT = str(Path(stepdown.__file__).parent)
TIMES = 40
TOPIC = "t"
MOST = {
    "Produce v7": (80, 24),
    "Produce v7 of four partitions": (155, 25),
    "Fetch v4 as it is": (85, 27),
    "Fetch v2 converted": (178, 42),
}
"""The calls and files of a request, with the wait for it; an answer that has to wait for its reader takes more."""


def produce(partitions: int) -> bytes:
    batch = build_batch([Record(offset=at, timestamp=1_000, key=None, value=bytes(100)) for at in range(3)])
    data = tuple(PartitionProduceData(index=index, records=batch) for index in range(partitions))
    request = ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=(TopicProduceData(name=TOPIC, partition_data=data),)
    )
    return frame_of(request, 7)


def fetch(version: int) -> bytes:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=16 * 1024)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=(FetchTopic(topic=TOPIC, partitions=(wanted,)),))
    return frame_of(request, version)


REQUESTS = {
    "Produce v7": produce(1),
    "Produce v7 of four partitions": produce(4),
    "Fetch v4 as it is": fetch(4),
    "Fetch v2 converted": fetch(2),
}


def ask(connection: socket.socket, frame: bytes) -> None:
    """Sends the request `TIMES` times, each after the answer to the one before; calls nothing of the product."""
    for _ in range(TIMES):
        connection.sendall(frame)
        left = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
        while left:
            left -= len(connection.recv(left))


async def count_calls(broker: Broker, requests: list[bytes]) -> Counter[tuple[str, str]]:
    """How often each function of the product, or of code that it generates, is called for the last request."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith((ROOT, "<")) and "/tests/" not in path:
            calls[path, frame.f_code.co_qualname] += 1

    with socket.create_connection((broker.address.host, broker.address.port)) as connection:
        for frame in requests:
            await asyncio.to_thread(ask, connection, frame)
        before: Callable[..., Any] | None = sys.getprofile()
        sys.setprofile(note)
        try:
            await asyncio.to_thread(ask, connection, requests[-1])
        finally:
            sys.setprofile(before)
    return calls


@pytest.mark.parametrize("name", MOST)
async def test_a_request_takes_few_steps(name: str, tmp_path: Path) -> None:
    async with running_broker(tmp_path, num_partitions=4) as broker:
        await broker.topics.ensure(TOPIC)
        calls = await count_calls(broker, [REQUESTS["Produce v7"], REQUESTS[name]])
    files = {path for (path, _), count in calls.items() if count >= 0.9 * TIMES}
    most_calls, most_files = MOST[name]
    assert calls.total() / TIMES <= most_calls, calls.most_common(200)
    assert len(files) <= most_files, sorted(files)
    assert len(files) > most_files / 2
