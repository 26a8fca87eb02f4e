"""Converted slices that leave with what goes before them, through a flow: to peers that take all, some, or nothing."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Thread

import pytest
from stepdown.broker.metrics.metrics import Metrics
from stepdown.broker.network.appetite import LargeBuffers
from stepdown.broker.network.buffer_pool import STANDARD_BYTES, BufferPool
from stepdown.broker.network.memory_budget import MemoryBudget
from stepdown.broker.network.sender import Sender
from stepdown.broker.network.transport import PlainWire
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record
from stepdown.protocol.schema import Piece
from stepdown.storage.downconversion.conversion_rules import ConversionRules, ConversionStats
from stepdown.storage.downconversion.converted_slice import ConvertedSlice
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files
from support.by_chunks import by_chunks

BUDGET_BYTES = 16 << 20


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> FileSlice:
    """1.5 MB of plain batches, and 10 kB that take a codec."""
    random, data, offset = Random(1), b"", 0
    while len(data) < 1_500_000:
        count, size = random.randint(1, 20), random.choice((10, 1000, 9000))
        data += build_batch([Record(offset=offset + n, timestamp=5, value=b"v" * size) for n in range(count)])
        offset += count
    data += build_batch([Record(offset=offset, timestamp=5, value=random.randbytes(10_000))], codec=Codec.GZIP)
    path = tmp_path_factory.mktemp("log") / "segment"
    path.write_bytes(data)
    return FileSlice(Files().handle(str(path)).opened(), 0, len(data))


class Response:
    """Heads and slices in turn, and what they are on the wire."""

    def __init__(self, source: FileSlice, random: Random, count: int) -> None:
        self.pieces: list[Piece] = []
        self.expected = b""
        self.stats: list[ConversionStats] = []
        for _ in range(count):
            head = bytearray(random.randbytes(random.choice((20, 50_000))))
            size = random.choice((source.size_bytes, 1 << 20, 300_000, 60_000))
            lazily = self._slice(source.part(0, size))
            self.pieces += [head, lazily]
            self.expected += bytes(head) + by_chunks(self._slice(source.part(0, size)))
            lazily.on_done = self.stats.append

    @staticmethod
    def _slice(part: FileSlice) -> ConvertedSlice:
        lazily = ConvertedSlice(part, ConversionRules(target=1, first_offset=0))
        assert lazily.promise()
        return lazily


class Reader(Thread):
    """The far end of a socket, read in portions of random sizes; it dawdles where a portion is small."""

    def __init__(self, sock: socket.socket, random: Random, most_bytes: int, size_bytes: int) -> None:
        super().__init__()
        self._sock, self._random, self._most, self._size = sock, random, most_bytes, size_bytes
        self.received = bytearray()

    def run(self) -> None:
        while len(self.received) < self._size:
            self.received += self._sock.recv(self._random.randint(1, self._most))


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


async def send(
    pieces: Sequence[Piece], near: socket.socket, budget: MemoryBudget, workers: ThreadPoolExecutor, *, is_near: bool
) -> None:
    wire = PlainWire(near, asyncio.get_running_loop(), 256 * 1024, LargeBuffers() if is_near else None)
    try:
        await asyncio.wait_for(Sender(wire, budget, BufferPool(), workers, Metrics()).send(pieces), 60)
    finally:
        wire.close()


@pytest.mark.parametrize("is_near", [True, False])
@pytest.mark.parametrize("most_bytes", [3000, 200_000, 4_000_000])
@pytest.mark.parametrize("seed", range(4))
async def test_all_arrives_in_order_however_much_is_taken_at_once(
    source: FileSlice, workers: ThreadPoolExecutor, seed: int, most_bytes: int, is_near: bool
) -> None:
    random = Random(seed)
    response, budget = Response(source, random, 6), MemoryBudget(BUDGET_BYTES)
    near, far = socket.socketpair()
    with near, far:
        reader = Reader(far, random, most_bytes, len(response.expected))
        reader.start()
        await send(response.pieces, near, budget, workers, is_near=is_near)
        await asyncio.to_thread(reader.join)
    assert reader.received == response.expected
    assert budget.in_use_bytes == 0 and len(response.stats) == 6
    assert budget.peak_bytes <= (BUDGET_BYTES if is_near else 4 * STANDARD_BYTES)


async def test_memory_that_others_hold_is_waited_for(source: FileSlice, workers: ThreadPoolExecutor) -> None:
    """With none left the slice goes chunk by chunk, as soon as there is some."""
    response, budget = Response(source, Random(1), 2), MemoryBudget(BUDGET_BYTES)
    others = budget.try_claim(BUDGET_BYTES)
    assert others is not None
    near, far = socket.socketpair()
    with near, far:
        reader = Reader(far, Random(1), 1 << 20, len(response.expected))
        reader.start()
        sending = asyncio.ensure_future(send(response.pieces, near, budget, workers, is_near=True))
        while not budget.waiting:
            assert not sending.done()
            await asyncio.sleep(0)
        others.release()
        await sending
        await asyncio.to_thread(reader.join)
    assert reader.received == response.expected and budget.in_use_bytes == 0


async def test_what_a_peer_left_is_dropped_for_others_and_made_again(
    source: FileSlice, workers: ThreadPoolExecutor
) -> None:
    response, budget = Response(source, Random(2), 1), MemoryBudget(BUDGET_BYTES)
    near, far = socket.socketpair()
    with near, far:
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)  # less than the first chunk
        sending = asyncio.ensure_future(send(response.pieces, near, budget, workers, is_near=False))
        while not budget.in_use_bytes:
            assert not sending.done()
            await asyncio.sleep(0)
        with await budget.claim(budget.limit_bytes):
            assert budget.in_use_bytes == budget.limit_bytes
        reader = Reader(far, Random(1), 1 << 20, len(response.expected))
        reader.start()
        await sending
        await asyncio.to_thread(reader.join)
    assert reader.received == response.expected and budget.in_use_bytes == 0
