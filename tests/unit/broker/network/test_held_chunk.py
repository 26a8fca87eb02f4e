"""What a converted chunk holds while it is made and sent, and that all of it is given back."""

import pytest
from stepdown.broker.network.buffer_pool import STANDARD_BYTES, BufferPool
from stepdown.broker.network.held_chunk import HeldChunk
from stepdown.broker.network.memory_budget import MemoryBudget

LARGE_BYTES = 8 * STANDARD_BYTES


class Exhausted(BufferPool):
    """The system has memory for one buffer and no more."""

    taken = 0

    def take(self, size_bytes: int) -> bytearray:
        self.taken += 1
        if self.taken > 1:
            raise MemoryError
        return super().take(size_bytes)


def hold(budget: MemoryBudget, buffers: BufferPool, size_bytes: int) -> HeldChunk:
    claim = budget.try_claim(size_bytes)
    assert claim is not None
    return HeldChunk(claim, buffers, size_bytes)


@pytest.fixture
def budget() -> MemoryBudget:
    return MemoryBudget(1 << 24)


def test_of_a_large_buffer_only_the_chunk_is_kept(budget: MemoryBudget) -> None:
    held = hold(budget, BufferPool(), LARGE_BYTES)
    held.buffer[:3] = b"abc"
    held.keep_only(memoryview(held.buffer)[:3])
    assert held.data == b"abc"
    assert budget.in_use_bytes == len(held.buffer) < LARGE_BYTES
    held.drop()
    held.drop()
    assert budget.in_use_bytes == 0


def test_without_memory_for_it_nothing_is_held(budget: MemoryBudget) -> None:
    held = hold(budget, Exhausted(), LARGE_BYTES)
    with pytest.raises(MemoryError):
        held.keep_only(memoryview(held.buffer)[:3])
    assert held.was_dropped
    assert budget.in_use_bytes == 0


def test_what_is_dropped_while_a_thread_works_with_it_goes_when_it_is_done(budget: MemoryBudget) -> None:
    held = hold(budget, BufferPool(), STANDARD_BYTES)
    held.lend()
    held.drop()
    assert budget.in_use_bytes == STANDARD_BYTES
    held.take_back()
    assert budget.in_use_bytes == 0


def test_what_is_offered_may_be_taken(budget: MemoryBudget) -> None:
    held = hold(budget, BufferPool(), budget.limit_bytes)
    held.offer()
    held.keep()
    assert budget.try_claim(1) is None
    assert held.was_offered and not held.was_dropped
