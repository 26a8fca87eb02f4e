from stepdown.network.output_buffer_pool import FORGOTTEN_A_RETURN, KEPT, STANDARD_BYTES, BufferPool

MANY = 20


def take_and_give(pool: BufferPool, count: int) -> set[int]:
    """Which buffers were out at once."""
    taken = [pool.take(1) for _ in range(count)]
    known = {id(buffer) for buffer in taken}
    while taken:
        pool.give(taken.pop())
    return known


def test_a_buffer_that_was_given_back_is_used_again() -> None:
    pool = BufferPool()
    first = pool.take(1)
    pool.give(first)
    assert pool.take(STANDARD_BYTES) is first


def test_readers_that_come_in_waves_get_the_same_buffers() -> None:
    pool = BufferPool()
    pool.take(1)
    known = take_and_give(pool, MANY)
    again = take_and_give(pool, MANY)
    assert len(known & again) >= MANY - MANY * FORGOTTEN_A_RETURN - 1


def test_what_few_readers_do_not_need_is_let_go() -> None:
    pool = BufferPool()
    pool.take(1)
    take_and_give(pool, MANY)
    for _ in range(int(MANY / FORGOTTEN_A_RETURN)):
        take_and_give(pool, 1)
    assert len(pool._kept) == KEPT - 1


def test_nearly_all_goes_with_the_last_reader() -> None:
    pool = BufferPool()
    take_and_give(pool, MANY)
    assert len(pool._kept) == KEPT


def test_a_large_buffer_is_made_for_the_occasion() -> None:
    pool = BufferPool()
    large = pool.take(STANDARD_BYTES + 1)
    pool.give(large)
    assert pool.take(STANDARD_BYTES + 1) is not large
