"""What a converted piece may do in which state, and what it holds then."""

import re

import pytest
from stepdown.network import converted_piece
from stepdown.network.clock import LoopClock
from stepdown.network.converted_piece import NEXT, ConversionMemory, ConversionState, ConvertedPiece
from stepdown.network.memory_budget import MemoryBudget
from stepdown.network.output_buffer_pool import STANDARD_BYTES, BufferPool
from stepdown.network.worker_threads import WorkerThreads


class Stream:
    """Gives `parts` one after the other, the promise with the first of them."""

    needs_worker = is_size_known = False
    bytes_to_claim = buffer_bytes = STANDARD_BYTES

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.at = 0
        self.size_bytes = sum(map(len, parts))

    def fill(self, buffer: bytearray | None) -> int:
        self.is_size_known = True
        if buffer is None:
            return 0
        part = self.parts[self.at]
        buffer[: len(part)] = part
        self.at += 1
        return len(part)

    def step_back(self) -> None:
        self.at -= 1

    def close(self) -> None: ...


def memory(limit_bytes: int = 16 << 20) -> ConversionMemory:
    return ConversionMemory(MemoryBudget(limit_bytes), BufferPool(), WorkerThreads(1, "test", LoopClock()))


def test_the_page_of_states_is_the_table() -> None:
    rows = re.findall(r"^\| (\w+) \| .* \| ([a-z, ]+) \|$", converted_piece.__doc__ or "", re.MULTILINE)
    told = {state: set(events.split(", ")) for state, events in rows if state in set(ConversionState)}
    assert told == {
        state: {event for event, then in NEXT[state].items() if then is not state} for state in ConversionState
    }


@pytest.mark.parametrize("state", ConversionState)
def test_every_state_ends_with_nothing_held(state: ConversionState) -> None:
    """By a drop, at once or when a thread is done."""
    after = NEXT[state]["drop"]
    assert ConversionState.EMPTY in (after, NEXT[after].get("take back"))


def test_what_a_state_does_not_allow_is_refused() -> None:
    empty = ConvertedPiece(Stream(b"a"), memory())
    for act in empty.offer_memory, empty.forget_sent_data, lambda: empty.keep(1):
        with pytest.raises(KeyError):
            act()


async def test_what_the_promise_made_is_offered_and_made_again_once_it_was_taken() -> None:
    stream, shared = Stream(b"first", b"second"), memory()
    piece = ConvertedPiece(stream, shared)
    await piece.learn_size()
    assert (piece.state, bytes(piece.data), piece.size_bytes) == (ConversionState.OFFERED, b"first", 11)
    with await shared.budget.claim(16 << 20):
        assert (piece.state, len(piece.data)) == (ConversionState.EMPTY, 0)
    piece.withdraw_offer()
    await piece.claim(lambda: None)
    piece.keep(piece.stream.fill(piece.buffer))
    assert bytes(piece.data) == b"first"
    piece.forget_sent_data()
    assert piece.has_room
    piece.keep(piece.stream.fill(piece.buffer))
    assert bytes(piece.data) == b"second"
    piece.close()
    assert shared.budget.in_use_bytes == 0


async def test_a_promise_keeps_nothing_when_half_of_the_memory_is_used() -> None:
    stream, shared = Stream(b"first"), memory(4 * STANDARD_BYTES)
    with await shared.budget.claim(3 * STANDARD_BYTES):
        piece = ConvertedPiece(stream, shared)
        await piece.learn_size()
        assert (piece.state, piece.size_bytes, stream.at) == (ConversionState.EMPTY, 5, 0)
