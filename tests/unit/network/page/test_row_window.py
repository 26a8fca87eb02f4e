"""Tables are cut to a window in order, and others have the loop while that is done."""

import pytest
from stepdown.network.page.row_window import take_window
from stepdown.network.turn import MOST_STEPS, Turns
from support.loop_passes import count_passes

ROWS = 10_000
NAMES = [f"t{number:05}" for number in range(ROWS)]


@pytest.mark.parametrize("names", [NAMES, NAMES[::-1]], ids=["in order", "backwards"])
async def test_windows_follow_each_other_to_the_end(names: list[str]) -> None:
    turn = Turns().begin()
    first = await take_window(names, None, 200, turn)
    second = await take_window(names, first.next, 200, turn)
    last = await take_window(names, NAMES[-3], 200, turn)
    assert (first.keys, second.keys) == (NAMES[:200], NAMES[200:400])
    assert (first.total, last.keys, last.next) == (ROWS, NAMES[-2:], None)


async def test_a_full_last_window_has_none_after_it() -> None:
    window = await take_window(NAMES[:5], None, 5, Turns().begin())
    assert (window.keys, window.next) == (NAMES[:5], None)


async def test_only_what_is_wanted_counts() -> None:
    window = await take_window(NAMES, None, 10, Turns().begin(), lambda name: name.endswith("00"))
    assert (window.total, window.keys[1]) == (100, "t00100")


async def test_others_have_the_loop_after_a_bounded_number_of_rows() -> None:
    turn = Turns(lambda: 0.0).begin()  # the time stands still: steps end a turn
    passes, _ = await count_passes(take_window(NAMES, None, 10, turn))
    assert passes >= ROWS // (MOST_STEPS + 1)
