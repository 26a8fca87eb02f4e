"""Which tests begin first, and which share a worker."""

import pytest
from support.schedule import LONGEST, SPARK, TESTS, place_of, scope_of


@pytest.mark.parametrize("name", LONGEST)
def test_a_file_that_is_said_to_be_long_is_there(name: str) -> None:
    """One that was moved would begin among the short ones."""
    assert (TESTS / name).is_file()


def test_no_file_is_named_twice() -> None:
    assert len(set(LONGEST)) == len(LONGEST)


def test_long_files_come_in_order_before_all_others() -> None:
    first, second, short = TESTS / LONGEST[0], TESTS / LONGEST[1], TESTS / "unit/support/test_schedule.py"
    assert sorted([short, second, first], key=place_of) == [first, second, short]


def test_files_that_ask_for_spark_share_a_worker() -> None:
    """Each worker started a Spark of its own."""
    with_spark = [f"tests/unit/pipeline/{name}.py" for name in ("census/test_job", "convert/test_job")]
    assert {scope_of(file) for file in with_spark} == {SPARK}
    assert scope_of("tests/unit/support/test_parts.py") == "tests/unit/support/test_parts.py"
