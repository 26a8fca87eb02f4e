import asyncio
import os
import socket
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.metrics.metrics import Metrics
from stepdown.network.clock import LoopClock
from stepdown.network.converted_piece import ConversionMemory, ConvertedPiece
from stepdown.network.memory_budget import MemoryBudget
from stepdown.network.output_buffer_pool import BufferPool
from stepdown.network.sender import Sender
from stepdown.network.transport import PlainTransport
from stepdown.network.worker_threads import WorkerThreads
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files
from support.clock import ManualClock, settle
from support.deadline import DEADLINE_S

CHUNK = 100_000


class Pattern:
    """A stream whose chunk number n is made of bytes n; it counts how often each is made."""

    def __init__(self, count: int, *, promised: int | None = None, needs_worker: bool = False) -> None:
        self.count = count
        self.size_bytes = count * CHUNK if promised is None else promised
        self.needs_worker = needs_worker
        self.bytes_to_claim = CHUNK
        self.made: list[int] = []
        self.is_size_known = True
        self.at = 0
        self.is_done = False

    @property
    def buffer_bytes(self) -> int:
        return self.bytes_to_claim

    def fill(self, buffer: bytearray | None) -> int:
        assert buffer is not None
        self.made.append(self.at)
        size = min(CHUNK, self.size_bytes - self.at * CHUNK)
        buffer[:size] = bytes([self.at]) * size
        self.at += 1
        return size

    def step_back(self) -> None:
        self.at -= 1

    def close(self) -> None:
        self.is_done = True

    @property
    def expected(self) -> bytes:
        return b"".join(bytes([n]) * CHUNK for n in range(self.count))[: self.size_bytes]


class Slow(Pattern):
    """A piece whose chunks are made when they may be."""

    def __init__(self, count: int, *, needs_worker: bool) -> None:
        super().__init__(count, needs_worker=needs_worker)
        self.begun, self.may_end = threading.Event(), threading.Event()

    def fill(self, buffer: bytearray | None) -> int:
        self.begun.set()
        self.may_end.wait(DEADLINE_S)
        return super().fill(buffer)


class Line:
    """A sender and the other end of its socket."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.memory = ConversionMemory(budget, BufferPool(), WorkerThreads(1, "test", LoopClock()))
        ours, self.theirs = socket.socketpair()
        for sock in (ours, self.theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
            sock.setblocking(False)
        loop = asyncio.get_running_loop()
        self.wire = PlainTransport(ours, loop)
        self.workers = self.memory.workers
        self.sender = Sender(self.wire, Metrics())

    async def send(self, *pieces: Any) -> None:
        """Of streams what they become."""
        await self.sender.send([self.of(each) if isinstance(each, Pattern) else each for each in pieces])

    def of(self, stream: Pattern) -> ConvertedPiece:
        piece = ConvertedPiece(stream, self.memory)
        piece.size_bytes = stream.size_bytes
        return piece

    async def read(self, size: int) -> bytes:
        loop, parts = asyncio.get_running_loop(), []
        while size:
            part = await loop.sock_recv(self.theirs, min(size, 65536))
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self.wire.close()
        self.theirs.close()
        self.workers.shutdown()


@asynccontextmanager
async def line(budget: MemoryBudget | None = None) -> AsyncIterator[Line]:
    opened = Line(budget or MemoryBudget(1 << 20))
    try:
        yield opened
    finally:
        opened.close()


async def test_pieces_arrive_in_order(tmp_path: Path) -> None:
    path = tmp_path / "file"
    stored = os.urandom(300_000)
    path.write_bytes(stored)
    part = FileSlice(Files().handle(str(path)).open(), 1000, 250_000)
    lazy = Pattern(3)
    async with line() as there:
        sending = asyncio.create_task(there.send(b"head", part, memoryview(b"middle"), lazy, b"tail"))
        expected = b"head" + stored[1000:251_000] + b"middle" + lazy.expected + b"tail"
        assert await there.read(len(expected)) == expected
        await sending
    assert lazy.is_done


@pytest.mark.parametrize("needs_worker", [False, True], ids=["inline", "worker"])
async def test_a_lazy_piece_is_cut_at_its_promised_size(needs_worker: bool) -> None:
    lazy = Pattern(3, promised=2 * CHUNK + 17, needs_worker=needs_worker)
    async with line() as there:
        sending = asyncio.create_task(there.send(lazy))
        assert await there.read(lazy.size_bytes) == lazy.expected
        await sending
        assert lazy.made == sorted(lazy.made)


async def test_a_worker_goes_on_while_the_peer_takes_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy, taken, threads = Pattern(4, needs_worker=True), bytearray(), set()

    def take(data: memoryview) -> int:
        taken.extend(data)
        threads.add(threading.current_thread())
        return len(data)

    async with line() as there:
        monkeypatch.setattr(there.wire, "try_send", take)
        await there.send(lazy)
    assert taken == lazy.expected
    assert threading.main_thread() not in threads
    assert len(threads) == 1


async def test_a_worker_sends_no_more_than_was_promised_and_leaves_the_rest_to_the_loop() -> None:
    lazy = Pattern(5, promised=3 * CHUNK + 17, needs_worker=True)
    async with line() as there:
        sending = asyncio.create_task(there.send(lazy, b"tail"))
        assert await there.read(lazy.size_bytes + 4) == lazy.expected + b"tail"
        await sending


async def test_a_socket_that_a_worker_sends_to_keeps_its_number_until_it_is_done() -> None:
    """Another connection would get the number, and what the worker sends."""
    lazy = Slow(2, needs_worker=True)
    async with line() as there:
        sending = asyncio.create_task(there.send(lazy))
        await asyncio.to_thread(lazy.begun.wait, 10)
        there.wire.close()
        assert there.wire._sock.fileno() >= 0
        lazy.may_end.set()
        with pytest.raises(OSError):
            await sending
        assert there.wire._sock.fileno() < 0


async def test_a_stalled_reader_holds_one_chunk_and_the_budget_gets_it_back() -> None:
    budget = MemoryBudget(2 * CHUNK)
    lazy = Pattern(4)
    async with line(budget) as there:
        sending = asyncio.create_task(there.send(lazy))
        await settle()
        assert budget.in_use_bytes == CHUNK
        assert await there.read(lazy.size_bytes) == lazy.expected
        await sending
    assert budget.in_use_bytes == 0


async def test_a_stalled_chunk_is_dropped_for_others_and_made_again() -> None:
    budget = MemoryBudget(CHUNK)
    stalled, other = Pattern(2), Pattern(2)
    async with line(budget) as slow, line(budget) as quick:
        waiting = asyncio.create_task(slow.send(stalled))
        await settle()
        sending = asyncio.create_task(quick.send(other))
        assert await quick.read(other.size_bytes) == other.expected
        await sending
        assert await slow.read(stalled.size_bytes) == stalled.expected
        await waiting
    assert stalled.made.count(0) == 2
    assert budget.peak_bytes == CHUNK


async def test_what_making_a_chunk_took_is_given_back_before_it_is_sent() -> None:
    class Greedy(Pattern):
        buffer_bytes = 6 * CHUNK

    budget = MemoryBudget(1 << 20)
    async with line(budget) as there:
        lazy = Greedy(1, needs_worker=True)
        lazy.bytes_to_claim = 8 * CHUNK
        sending = asyncio.create_task(there.send(lazy))
        got = await there.read(1)
        await asyncio.to_thread(there.workers.shutdown)  # the worker that sent it is done
        await settle()
        assert budget.in_use_bytes == CHUNK
        assert got + await there.read(CHUNK - 1) == lazy.expected
        await sending
    assert (budget.peak_bytes, budget.in_use_bytes) == (8 * CHUNK, 0)


async def test_a_chunk_that_needs_more_room_is_charged_for_it_first() -> None:
    class Growing(Pattern):
        def fill(self, buffer: bytearray | None) -> int:
            if self.bytes_to_claim == CHUNK:
                self.bytes_to_claim = 400_000
                return 0
            return super().fill(buffer)

    budget = MemoryBudget(1 << 20)
    async with line(budget) as there:
        lazy = Growing(1)
        sending = asyncio.create_task(there.send(lazy))
        assert await there.read(CHUNK) == lazy.expected
        await sending
    assert budget.peak_bytes == 400_000


async def test_a_peer_that_leaves_ends_the_send_and_frees_the_memory() -> None:
    budget = MemoryBudget(1 << 20)
    async with line(budget) as there:
        sending = asyncio.create_task(there.send(Pattern(4)))
        await settle()
        there.theirs.close()
        with pytest.raises(OSError):
            await sending
    assert budget.in_use_bytes == 0


async def test_what_waits_for_memory_when_its_wire_is_closed_goes_nowhere() -> None:
    """The descriptor may be another connection's by the time that there is memory."""
    budget = MemoryBudget(CHUNK)
    async with line(budget) as there:
        held = await budget.claim(CHUNK)
        sending = asyncio.create_task(there.send(Pattern(2)))
        await settle()
        there.wire.close()
        held.release()
        with pytest.raises(OSError):
            await sending
    assert budget.in_use_bytes == 0


async def test_closing_the_wire_wakes_a_stalled_send() -> None:
    budget = MemoryBudget(1 << 20)
    async with line(budget) as there:
        sending = asyncio.create_task(there.send(Pattern(4)))
        await settle()
        there.wire.close()
        with pytest.raises(ConnectionResetError):
            await sending
    assert budget.in_use_bytes == 0


async def test_a_dropped_chunk_is_gone_while_its_reader_still_stalls() -> None:
    """A stalled send went on holding the bytes whose memory it had given back to the budget."""

    class Buffer(bytearray):
        """A bytearray that tells when it is gone."""

    class Pool(BufferPool):
        def take(self, size_bytes: int) -> bytearray:
            taken = Buffer(size_bytes)
            made.append(weakref.ref(taken))
            return taken

        def give(self, buffer: bytearray) -> None: ...

    made: list[weakref.ref[Buffer]] = []
    budget = MemoryBudget(CHUNK)
    async with line(budget) as slow:
        slow.memory = ConversionMemory(budget, Pool(), slow.workers)
        sending = asyncio.create_task(slow.send(Pattern(2)))
        await settle()
        assert [buffer() is None for buffer in made] == [False]
        with await budget.claim(CHUNK):
            assert [buffer() is None for buffer in made] == [True]
        sending.cancel()


async def test_pieces_that_are_not_reached_are_done_too() -> None:
    """What the first pieces of a broken response took was never counted: the last ones did not say that they ended."""
    pieces = [Pattern(4), Pattern(1), Pattern(1)]
    async with line() as there:
        sending = asyncio.create_task(there.send(b"head", *pieces))
        await settle()
        there.theirs.close()
        with pytest.raises(OSError):
            await sending
    assert [piece.is_done for piece in pieces] == [True] * 3


async def test_a_file_that_became_shorter_ends_the_connection(tmp_path: Path) -> None:
    """The size is promised already: nothing else could take the place of what is missing."""
    path = tmp_path / "file"
    path.write_bytes(bytes(1000))
    part = FileSlice(Files().handle(str(path)).open(), 0, 5000)
    async with line() as there:
        with pytest.raises(EOFError):
            await there.send(part)


async def test_many_stalled_readers_share_the_budget_and_all_get_everything() -> None:
    budget = MemoryBudget(2 * CHUNK)
    pieces = [Pattern(3, needs_worker=at % 2 == 0) for at in range(6)]
    async with AsyncExitStack() as opened:
        lines = [await opened.enter_async_context(line(budget)) for _ in pieces]
        sends = [asyncio.create_task(on.send(piece)) for on, piece in zip(lines, pieces, strict=True)]
        await settle()
        for on, piece in zip(lines, pieces, strict=True):
            assert await on.read(piece.size_bytes) == piece.expected
        await asyncio.gather(*sends)
    assert budget.peak_bytes <= 2 * CHUNK
    assert (budget.in_use_bytes, budget.waiting_count) == (0, 0)


async def test_who_stalls_and_goes_on_leaves_its_memory_to_those_who_wait() -> None:
    """A reader that stalled at each chunk held the same memory to its end; others waited until it was taken away."""
    budget = MemoryBudget(CHUNK, clock=ManualClock())
    slow, other = Pattern(3), Pattern(1)
    async with line(budget) as there, line(budget) as elsewhere:
        sending = asyncio.create_task(there.send(slow))
        await settle()
        waiting = asyncio.create_task(elsewhere.send(other))
        await settle()
        assert budget.waiting_count == 1
        assert await there.read(CHUNK) == slow.expected[:CHUNK]
        assert await elsewhere.read(CHUNK) == other.expected
        await waiting
        assert await there.read(2 * CHUNK) == slow.expected[CHUNK:]
        await sending
    assert slow.made == [0, 1, 2]


async def test_readers_that_are_cut_off_while_they_wait_for_memory_leave_no_claim() -> None:
    budget = MemoryBudget(CHUNK)
    async with line(budget) as there:
        held = await budget.claim(CHUNK)
        sending = asyncio.create_task(there.send(Pattern(2)))
        await settle()
        assert budget.waiting_count == 1
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        held.release()
    assert (budget.in_use_bytes, budget.waiting_count) == (0, 0)


async def test_a_chunk_made_for_a_reader_that_is_cut_off_gives_its_memory_back_when_the_worker_is_done() -> None:
    lazy = Slow(1, needs_worker=True)
    budget = MemoryBudget(CHUNK)
    async with line(budget) as there:
        sending = asyncio.create_task(there.send(lazy))
        await asyncio.to_thread(lazy.begun.wait, 10)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert budget.in_use_bytes == CHUNK
        lazy.may_end.set()
        with await budget.claim(CHUNK):
            assert budget.in_use_bytes == CHUNK
    assert budget.in_use_bytes == 0


async def test_a_chunk_that_cannot_be_made_gives_its_memory_back() -> None:
    class Broken(Pattern):
        def fill(self, buffer: bytearray | None) -> int:
            raise ValueError("broken")

    for needs_worker in (False, True):
        budget = MemoryBudget(CHUNK)
        async with line(budget) as there:
            with pytest.raises(ValueError, match="broken"):
                await there.send(Broken(1, needs_worker=needs_worker))
            await settle()
        assert budget.in_use_bytes == 0


async def test_a_wire_that_is_closed_while_a_worker_fills_a_buffer_is_given_nothing() -> None:
    lazy = Slow(1, needs_worker=True)
    budget = MemoryBudget(CHUNK)
    async with line(budget) as there:
        sending = asyncio.create_task(there.send(lazy))
        await asyncio.to_thread(lazy.begun.wait, 10)
        there.wire.close()
        lazy.may_end.set()
        with pytest.raises(OSError):
            await sending
    assert budget.in_use_bytes == 0


async def test_a_file_that_changed_while_its_reader_stalled_ends_the_connection() -> None:
    """Some of the bytes may be on their way, and the rest cannot be had again."""

    class Shrinking(Pattern):
        def fill(self, buffer: bytearray | None) -> int:
            return super().fill(buffer) - (len(self.made) > 1)

    budget = MemoryBudget(CHUNK)
    async with line(budget) as there:
        sending = asyncio.create_task(there.send(Shrinking(1)))
        await settle()
        (await budget.claim(CHUNK)).release()
        reading = asyncio.create_task(there.read(CHUNK))
        with pytest.raises(EOFError):
            await sending
        there.wire.close()
        await reading
    assert budget.in_use_bytes == 0


async def promised(there: Line, lazy: Pattern) -> ConvertedPiece:
    """The piece as it is when its first chunk was made before its turn came."""
    piece = there.of(lazy)
    await piece.claim(lambda: None)
    piece.keep(piece.stream.fill(piece.buffer))
    piece.offer_memory(at_once=True)
    return piece


async def test_what_was_filled_before_is_sent_first() -> None:
    budget, lazy = MemoryBudget(1 << 20), Pattern(3)
    async with line(budget) as there:
        sending = asyncio.create_task(there.send(await promised(there, lazy)))
        assert await there.read(lazy.size_bytes) == lazy.expected
        await sending
    assert lazy.made == [0, 1, 2]
    assert budget.in_use_bytes == 0


async def test_what_was_filled_before_and_dropped_for_others_is_made_again() -> None:
    budget, lazy = MemoryBudget(2 * CHUNK), Pattern(3)
    async with line(budget) as there:
        piece = await promised(there, lazy)
        with await budget.claim(2 * CHUNK):
            pass
        sending = asyncio.create_task(there.send(piece))
        assert await there.read(lazy.size_bytes) == lazy.expected
        await sending
    assert lazy.made == [0, 0, 1, 2]
    assert budget.in_use_bytes == 0


async def test_what_was_filled_for_an_answer_that_is_never_sent_goes_with_it() -> None:
    """Also while it is offered: the budget does not keep it."""
    budget = MemoryBudget(2 * CHUNK)
    async with line(budget) as there:
        piece = await promised(there, Pattern(3))
        assert budget.in_use_bytes == CHUNK
        del piece
        assert budget.in_use_bytes == 0
