"""10,000 entries were remembered, and 300 MB of the names that clients had chosen for them."""

import pytest
from stepdown.network.admission.remembered_names import USUAL_NAME_BYTES, RememberedNames

MOST = 100
LONG = 32_000


def test_the_oldest_are_forgotten_above_the_limit_of_entries() -> None:
    forgotten: list[tuple[tuple[str, ...], int]] = []
    names: RememberedNames[tuple[str, ...], int] = RememberedNames(2, lambda key, value: forgotten.append((key, value)))
    for number, name in enumerate("abac"):
        names.put((name,), number)
    assert forgotten == [(("b",), 1)]
    assert (names.pop(("a",)), names.pop(("b",)), names.pop(("c",))) == (2, None, 3)
    assert (len(names), names.name_bytes) == (0, 0)


@pytest.mark.parametrize("length", [1, USUAL_NAME_BYTES, LONG])
def test_names_of_any_length_hold_no_more_than_usual_ones(length: int) -> None:
    names: RememberedNames[tuple[str, str], int] = RememberedNames(MOST)
    for number in range(3 * MOST):
        names.put((f"{number}".ljust(length, "x"), "group"), number)
        assert 0 < len(names) <= MOST
        assert names.name_bytes <= max(MOST * USUAL_NAME_BYTES, length + len("group"))
    assert names.pop((f"{3 * MOST - 1}".ljust(length, "x"), "group")) == 3 * MOST - 1
