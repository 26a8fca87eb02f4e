"""Finds the known name that is most similar to a misspelt one, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

_LETTERS_PER_MISTAKE = 4


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name with the smallest edit distance; None if that is more than one change for four letters."""
    asked = name.strip().lower().replace("_", ".")
    most = max(1, len(asked) // _LETTERS_PER_MISTAKE)
    near = (candidate for candidate in known if abs(len(candidate) - len(asked)) <= most)
    ranked = [
        (edit_distance(asked, candidate.lower()), abs(len(candidate) - len(asked)), candidate) for candidate in near
    ]
    best = min(ranked, default=None)
    return best[2] if best is not None and best[0] <= most else None


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of an error message, "; did you mean …?", or "" if no name is similar. `_` counts as `.`."""
    by_dots = {each.replace("_", "."): each for each in known}
    like = nearest(name, by_dots)
    return "" if like is None else f"; did you mean {by_dots[like]}?"


def edit_distance(one: str, other: str) -> int:
    """The number of letters to add, drop, replace or swap with their neighbour."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, wanted in enumerate(other, start=1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]
