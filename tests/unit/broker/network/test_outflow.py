import asyncio
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from stepdown.broker.network.appetite import Appetite
from stepdown.broker.network.buffer_pool import BufferPool
from stepdown.broker.network.held_chunk import HeldChunk
from stepdown.broker.network.memory_budget import MemoryBudget
from stepdown.broker.network.outflow import SLICE_BYTES, TURN_BYTES, Outflow
from stepdown.broker.network.transport import PlainWire
from stepdown.protocol.schema import Piece
from stepdown.storage.files.file_slice import FileSlice
from stepdown.storage.files.files import Files


class Greedy(PlainWire):
    """A wire whose peer takes all that it is offered."""

    def __init__(self) -> None:
        self.taken = 0
        self.appetite = Appetite(socket.socket(), None)

    def try_send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> int:
        self.taken += len(data)
        return len(data)

    def try_send_file(self, file_fd: int, position: int, size_bytes: int) -> int:
        self.taken += size_bytes
        return size_bytes


class Later:
    """A piece that only a worker can make."""

    size_bytes = 1
    needs_worker = True
    claim_bytes = buffer_bytes = 1

    def chunks(self) -> "Later":
        return self

    def send_shared(self, *_: object) -> tuple[int, bool]:
        return 0, False

    def done(self) -> None: ...


class Made:
    """A piece that is made on the loop, as much as is asked for at once; it tells how often it was asked."""

    needs_worker = False
    claim_bytes = buffer_bytes = 1

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.runs = 0

    def chunks(self) -> "Made":
        return self

    def send_shared(self, *_: object) -> tuple[int, bool]:
        return 0, False

    def run(self, out: bytearray, outlet: Greedy, most_bytes: int, turn_bytes: int) -> tuple[int, memoryview, int]:
        self.runs += 1
        done = min(most_bytes, turn_bytes)
        outlet.taken += done
        return done, memoryview(b""), 0

    def done(self) -> None: ...


class Found(Made):
    """A piece of which others had all."""

    def __init__(self, *, goes_at_once: bool) -> None:
        super().__init__(1000)
        self._goes_at_once = goes_at_once

    def goes_at_once(self, _: object) -> bool:
        return self._goes_at_once

    def send_shared(self, outlet: Greedy, most_bytes: int, _: int) -> tuple[int, bool]:  # type: ignore[override]
        outlet.taken += most_bytes
        return most_bytes, False


def flow(wire: PlainWire, pieces: Sequence[object]) -> Outflow:
    return Outflow(wire, MemoryBudget(1 << 20), BufferPool(), cast(Sequence[Piece], pieces))


def stored(folder: Path, size_bytes: int) -> FileSlice:
    path = folder / "file"
    path.write_bytes(os.urandom(1 << 12) * (size_bytes >> 12))
    return FileSlice(Files().handle(str(path)).opened(), 0, size_bytes)


@pytest.fixture
async def wires() -> AsyncIterator[tuple[PlainWire, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    theirs.setblocking(False)
    wire = PlainWire(ours, asyncio.get_running_loop())
    yield wire, theirs
    wire.close()
    theirs.close()


def test_a_flow_halts_before_a_piece_that_is_made_in_a_worker(tmp_path: Path) -> None:
    wire, later = Greedy(), Later()
    run = flow(wire, [b"head", stored(tmp_path, 4096), b"middle", later, b"tail"])
    assert run.push() and run.push()
    assert (run.chunks, wire.taken, run.file_bytes) == (later, 4 + 4096 + 6, 4096)
    run.take_up(1, HeldChunk(MemoryBudget(1).try_claim(1), BufferPool(), 1))  # type: ignore[arg-type]
    assert run.push() and run.is_over
    assert (wire.taken, run.converted_bytes) == (4 + 4096 + 6 + 4, 1)


def test_others_have_their_turn_while_a_peer_takes_all_of_a_large_file(tmp_path: Path) -> None:
    wire = Greedy()
    run = flow(wire, [stored(tmp_path, 2 * TURN_BYTES + 4096)])
    turns = 1
    while not run.push():
        assert wire.taken == turns * TURN_BYTES
        turns += 1
    assert turns == 3 and run.file_bytes == 2 * TURN_BYTES + 4096


def test_many_small_slices_are_one_turn_together(tmp_path: Path) -> None:
    wire = Greedy()
    part = stored(tmp_path, TURN_BYTES // 2)
    run = flow(wire, [part, b"between", part, part])
    assert not run.push() and wire.taken == TURN_BYTES - SLICE_BYTES + len(b"between")
    assert run.push()


@pytest.mark.parametrize("kind", ["made", "file"])
def test_thousands_of_tiny_slices_are_many_turns(tmp_path: Path, kind: str) -> None:
    """Counted by their bytes alone they held the loop for a quarter of a second."""
    tiny = [Made(100) if kind == "made" else stored(tmp_path, 4096) for _ in range(1000)]
    run = flow(Greedy(), tiny)
    turns = 1
    while not run.push():
        turns += 1
    assert turns > 1000 * SLICE_BYTES // TURN_BYTES


def test_a_chunk_that_comes_out_shorter_the_second_time_ends_the_connection() -> None:
    """The loop tried for ever to send what was not there."""
    run = flow(Greedy(), [Made(100)])
    run.unsent_bytes = 10
    held = HeldChunk(MemoryBudget(1).try_claim(1), BufferPool(), 1)  # type: ignore[arg-type]
    held.data = memoryview(b"short")
    with pytest.raises(EOFError, match="5 bytes of a chunk"):
        run.resume(held)


def test_a_slice_that_is_converted_is_not_begun_at_the_end_of_a_turn() -> None:
    wire = Greedy()
    nearly, small = [Made(TURN_BYTES - 100) for _ in range(3)], [Made(TURN_BYTES // 8) for _ in range(4)]
    run = flow(wire, [*nearly, *small])
    turns = 1
    while not run.push():
        turns += 1
    assert turns == 4 and run.is_over
    assert [piece.runs for piece in nearly + small] == [1] * 7


@pytest.mark.parametrize("goes_at_once", [True, False])
def test_what_is_kept_for_several_is_not_given_up_for_a_slice_to_go_at_once(goes_at_once: bool) -> None:
    budget, dropped = MemoryBudget(1 << 20), []
    kept = budget.try_spare(1 << 20, lambda: dropped.append(1))
    wire = Greedy()
    pieces = cast(Sequence[Piece], [bytearray(b"head"), Found(goes_at_once=goes_at_once)])
    assert Outflow(wire, budget, BufferPool(), pieces).push()
    assert kept is not None and not dropped and wire.taken == 1004


async def test_the_loop_sends_on_and_wakes_who_waits_once_all_is_sent(
    tmp_path: Path, wires: tuple[PlainWire, socket.socket]
) -> None:
    wire, theirs = wires
    part = stored(tmp_path, 1 << 18)
    run = flow(wire, [b"head", part, b"tail"])
    assert not run.push()
    waiting = asyncio.ensure_future(wire.drive(run.push))
    received = bytearray()
    while len(received) < (1 << 18) + 8:
        received += await asyncio.get_running_loop().sock_recv(theirs, 1 << 16)
    await waiting
    assert received == b"head" + part.read(0, 1 << 18) + b"tail"


async def test_what_goes_wrong_while_the_loop_sends_is_raised_where_it_is_waited_for(
    wires: tuple[PlainWire, socket.socket],
) -> None:
    def push() -> bool:
        raise EOFError("too short")

    with pytest.raises(EOFError, match="too short"):
        await wires[0].drive(push)


async def test_nothing_is_sent_any_more_for_who_does_not_wait_any_more(
    wires: tuple[PlainWire, socket.socket],
) -> None:
    wire, _ = wires
    pushed = 0

    def push() -> bool:
        nonlocal pushed
        pushed += 1
        if pushed == 2:
            waiting.cancel()
        return False

    waiting = asyncio.ensure_future(wire.drive(push))
    with suppress(asyncio.CancelledError):
        await waiting
    wire.rest()
    assert pushed == 2
