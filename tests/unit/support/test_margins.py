"""Comparisons that hold by little are told; those that hold by much, and equalities, are not."""

import pytest
from support.margins import near_bounds


@pytest.mark.parametrize(
    ("explanation", "found"),
    [
        ("(1046000 - 3000) <= 1048576", [(1043000, 1048576)]),
        ("900 <= 990\n  + where 990 = len(x)", [(900, 990)]),
        ("990 < 1000 < 5000", [(990, 1000)]),
        ("2000 > 1990.5", [(2000, 1990.5)]),
        ("300 < 1000", []),
        ("9 <= 10", []),
        ("1000 == 1000", []),
        ("'b' in {'a': <object at 0x7f>}", []),
        ("all(<generator object f at 0x7f>)", []),
    ],
)
def test_a_comparison_is_told_when_its_bound_is_near(explanation: str, found: list[tuple[float, float]]) -> None:
    assert list(near_bounds(explanation)) == found
