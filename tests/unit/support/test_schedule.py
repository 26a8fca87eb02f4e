"""Which tests begin first."""

import pytest
from support.schedule import LONGEST, TESTS, place_of


@pytest.mark.parametrize("name", LONGEST)
def test_a_file_that_is_said_to_be_long_is_there(name: str) -> None:
    """One that was moved would begin among the short ones."""
    assert (TESTS / name).is_file()


def test_no_file_is_named_twice() -> None:
    assert len(set(LONGEST)) == len(LONGEST)


def test_long_files_come_in_order_before_all_others() -> None:
    first, second, short = TESTS / LONGEST[0], TESTS / LONGEST[1], TESTS / "unit/support/test_schedule.py"
    assert sorted([short, second, first], key=place_of) == [first, second, short]
