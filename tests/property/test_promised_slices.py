"""A slice of an old fetch becomes the same bytes however it gets there.

As a stream, buffer by buffer, or converted at once, or with what was kept of its promise; sent to a peer that takes a
part at a time, while others take the buffers away.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepdown.broker.metrics.metrics import Metrics
from stepdown.network.clock import LoopClock
from stepdown.network.converted_piece import ConversionMemory, ConvertedPiece
from stepdown.network.memory_budget import MemoryBudget
from stepdown.network.output_buffer_pool import BufferPool
from stepdown.network.sender import Sender
from stepdown.network.worker_threads import WorkerThreads
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType
from stepdown.protocol.records.record import Record
from stepdown.storage.downconversion.conversion_rules import CHUNK_BYTES, ConversionRules, ConversionStats
from stepdown.storage.downconversion.converted_stream import ConvertedStream
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files

Outcome = tuple[int, bytes, ConversionStats] | type[ApiError]
SIZES = st.sampled_from([0, 1, 10, 100, 1000, 9000])
BATCHES = st.lists(
    st.tuples(
        st.sampled_from(["v2", "v2", "v2", "v2", "v1", "v0", "marker"]),
        st.sampled_from([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.LZ4, Codec.ZSTD]),
        st.integers(1, 60),
        SIZES,
    ),
    min_size=1,
    max_size=8,
)
RULES = st.builds(
    ConversionRules,
    target=st.sampled_from([0, 1]),
    first_offset=st.sampled_from([0, 0, 3, 40]),
    zstd_to=st.sampled_from([None, Codec.LZ4]),
    chunk_bytes=st.sampled_from([CHUNK_BYTES, CHUNK_BYTES, 20_000, 1024]),
    shows_too_large=st.booleans(),
)


def values(chance: Random, count: int, size: int) -> list[bytes]:
    make: Callable[[], bytes] = chance.choice(
        [
            lambda: chance.randbytes(size),
            lambda: bytes(size),
            lambda: (b"some words %d " % chance.randrange(900) * (size // 12 + 1))[:size],
        ]
    )
    return [make() for _ in range(count)]


def batch(kind: str, codec: Codec, first: int, contents: list[bytes]) -> bytes:
    if kind == "marker":
        return build_control_marker(
            ControlType.COMMIT, offset=first, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=5
        )
    magic = int(kind[1])
    rows = [Record(offset=first + n, timestamp=5, key=None, value=value) for n, value in enumerate(contents)]
    return build_batch(rows, magic=magic, codec=codec if magic == 2 or codec is not Codec.ZSTD else Codec.GZIP)


def streamed(source: FileSlice, rules: ConversionRules) -> Outcome:
    try:
        stream = ConvertedStream(source, rules)
        while not stream.is_size_known:
            stream.fill(None)
    except ApiError as fault:
        return type(fault)
    out = bytearray()
    while len(out) < stream.size_bytes:
        buffer = bytearray(stream.buffer_bytes)
        out += buffer[: stream.fill(buffer)]
    return stream.size_bytes, bytes(out), replace(stream.stats, seconds=0, chunks=0)


class Peer:
    """Takes a part at a time; while it is waited for, others may take the buffers."""

    sends_files = False

    unsent_bytes = 0

    def __init__(self, chance: Random, budget: MemoryBudget) -> None:
        self.taken = bytearray()
        self.sends_in_threads = chance.random() < 0.7
        self._chance = chance
        self._budget = budget
        self._is_full = False
        self.leaves_at: int | None = None

    def try_send(self, data: Any, *, more: bool = False) -> int:
        if self.leaves_at is not None and len(self.taken) >= self.leaves_at:
            raise ConnectionResetError
        size = 0 if self._is_full else self._chance.choice([len(data), len(data), self._chance.randint(0, len(data))])
        self._is_full = size < len(data)
        self.taken += data[:size]
        return size

    async def wait_for_room(self) -> None:
        self._is_full = False
        if self._chance.random() < 0.6:
            take_all(self._budget)

    def stop_watching_room(self) -> None: ...
    def lend_to_thread(self) -> None: ...
    def take_back_from_thread(self) -> None: ...


def take_all(budget: MemoryBudget) -> None:
    """What waits for the whole budget does to those who offer theirs."""
    for claim in list(budget._reclaimable):
        budget._reclaimable.pop(claim)()


async def wait_for_memory(budget: MemoryBudget, chance: Random) -> None:
    while True:
        if chance.random() < 0.5:
            take_all(budget)
        await asyncio.sleep(0)


async def promised(memory: ConversionMemory, source: FileSlice, rules: ConversionRules) -> ConvertedPiece:
    """As a broker does it."""
    conversion = ConvertedPiece(ConvertedStream(source, rules), memory)
    await conversion.learn_size()
    return conversion


async def sent(source: FileSlice, rules: ConversionRules, chance: Random, *, leaves: bool) -> list[Outcome]:
    """What comes of the slice when it is sent twice, one behind the other; nothing if the peer leaves before."""
    budget, heard = MemoryBudget(16 << 20), list[ConversionStats]()
    workers = WorkerThreads(1, "one", LoopClock())
    memory = ConversionMemory(budget, BufferPool(), workers)
    peer: Any = Peer(chance, budget)
    others = None
    try:
        slices = [await promised(memory, source, rules) for _ in range(2)]
        size = slices[0].size_bytes
        for converted in slices:
            converted.stream.on_done = heard.append  # type: ignore[attr-defined]
        if chance.random() < 0.3:
            take_all(budget)
        peer.leaves_at = chance.randint(0, 2 * size) if leaves else None
        sender = Sender(peer, Metrics())
        sender._turn_left = chance.choice([1, 1 << 20])
        others = asyncio.create_task(wait_for_memory(budget, chance))
        await sender.send([b"before", slices[0], b"between", slices[1], b"behind"])
    except ApiError as fault:
        return [type(fault)]
    except ConnectionResetError:
        assert leaves
    finally:
        if others is not None:
            others.cancel()
        await asyncio.to_thread(workers.shutdown)
        await asyncio.sleep(0)
    assert (len(heard), budget.in_use_bytes) == (2, 0)
    if leaves:
        return []
    out = bytes(peer.taken)
    assert len(out) == 2 * size + 19
    assert (out[:6], out[6 + size : 13 + size], out[-6:]) == (b"before", b"between", b"behind")
    parts = out[6 : 6 + size], out[13 + size : -6]
    return [(size, part, replace(stats, seconds=0, chunks=0)) for part, stats in zip(parts, heard, strict=True)]


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("slices") / "segment"

    def stored(data: bytes) -> FileSlice:
        path.write_bytes(data)
        return FileSlice(Files().handle(str(path)).open(), 0, len(data))

    return stored


@settings(max_examples=300)
@given(
    batches=BATCHES,
    rules=RULES,
    seed=st.integers(0, 1 << 30),
    cut=st.integers(0, 100),
    damage=st.sampled_from([0, 0, 1]),
)
def test_each_way_gives_the_bytes_of_the_stream(
    segment: Any, batches: list[tuple[str, Codec, int, int]], rules: ConversionRules, seed: int, cut: int, damage: int
) -> None:
    chance, data, first = Random(seed), bytearray(), 0
    for kind, codec, count, size in batches:
        data += batch(kind, codec, first, values(chance, count, size))
        first += count
    del data[max(1, len(data) - (cut if cut < 70 else 0)) :]
    for _ in range(damage):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    source = segment(bytes(data))
    expected = streamed(source, rules)
    assert set(map(repr, asyncio.run(sent(source, rules, chance, leaves=False)))) == {repr(expected)}
    asyncio.run(sent(source, rules, chance, leaves=True))
