"""Requests damaged at random: the broker lives on, answers the next one, and does not grow."""

import asyncio
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from stepdown.broker.handlers import SERVED
from stepdown.protocol.api import API
from stepdown.protocol.frame import encode_request
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.broker import Stepdown
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.mutations import random_batch

GROWTH_BYTES = 48 << 20
PIPELINE = 16
HARMLESS = [spec for key, spec in API.items() if key in SERVED]


def resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def whole_requests(random: Random) -> Iterator[bytes]:
    """Valid frames of every API and version, those that carry records with records in them."""
    while True:
        spec = random.choice(HARMLESS)
        version = random.randint(SERVED[spec.key].first, SERVED[spec.key].last)
        request = spec.request()
        if spec.name == "Produce":
            data = PartitionProduceData(index=0, records=memoryview(random_batch(random)))
            request = ProduceRequest(
                acks=random.choice((0, 1, -1)),
                timeout_ms=10,
                topic_data=(TopicProduceData(name="t", partition_data=(data,)),),
            )
        elif spec.name == "Fetch" and version < 13:
            wanted = FetchPartition(partition=0, fetch_offset=random.randrange(50), partition_max_bytes=10_000)
            request = FetchRequest(max_bytes=10_000, topics=(FetchTopic(topic="t", partitions=(wanted,)),))
        with suppress(ValueError):
            yield b"".join(bytes(piece) for piece in encode_request(spec, version, 1, "hostile", request))


def damaged(random: Random, frame: bytes) -> bytes:
    """The frame with a few bytes changed, left out or added; its size field right, most of the time."""
    body = bytearray(frame[4:])
    for _ in range(random.randint(0, 4)):
        at = random.randrange(8, len(body)) if len(body) > 8 and random.random() < 0.9 else random.randrange(len(body))
        kind = random.randrange(4)
        if kind == 0:
            body[at] = random.randrange(256)
        elif kind == 1:
            body[at : at + 4] = random.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0"))
        elif kind == 2:
            del body[at : at + random.randint(1, 8)]
        else:
            body[at:at] = random.randbytes(random.randint(1, 8))
        if not body:
            break
    size = len(body) if random.random() < 0.97 else random.randrange(-(1 << 31), 1 << 31)
    return struct.pack(">i", size) + bytes(body)


async def throw(address: str, frames: list[bytes]) -> None:
    """Sends the frames down one connection and reads until the broker closes it or has nothing more to say."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    with suppress(ConnectionError):
        writer.write(b"".join(frames))
        writer.write_eof()
        while await reader.read(1 << 16):
            pass
    writer.close()


@pytest.mark.parametrize(
    "count", [pytest.param(3_000, id="3000"), pytest.param(100_000, id="100000", marks=pytest.mark.slow)]
)
async def test_mutated_requests_neither_stop_nor_grow_the_broker(tmp_path: Path, count: int) -> None:
    random = Random(count)
    frames = whole_requests(random)
    with Stepdown(tmp_path, properties={"num.partitions": "1", "log.segment.bytes": "1048576"}) as broker:
        broker.create_topic("t")
        baseline = 0
        for at in range(0, count, PIPELINE):
            batch = [damaged(random, next(frames)) for _ in range(PIPELINE)]
            async with asyncio.timeout(DEADLINE_S):
                await throw(broker.address, batch)
            if at == count // 5 // PIPELINE * PIPELINE:
                baseline = resident_bytes(broker.pid)
        host, port = broker.address.rsplit(":", 1)
        client = await RawClient.connect(host, int(port))
        assert (await client.send(MetadataRequest(topics=None), 1)).topics
        assert resident_bytes(broker.pid) - baseline < GROWTH_BYTES
        assert "Traceback" not in broker.log
