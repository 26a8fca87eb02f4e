"""Finds the known name that is most similar to a misspelt one, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

_LETTERS_PER_MISTAKE = 4


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name with the smallest edit distance; None if that is more than one change for four letters of the
    longer name."""
    asked = name.strip().lower().replace("_", ".")
    ranked = []
    for candidate in known:
        most = max(1, max(len(asked), len(candidate)) // _LETTERS_PER_MISTAKE)
        longer_by = abs(len(candidate) - len(asked))
        if longer_by <= most and (distance := edit_distance(asked, candidate.lower())) <= most:
            ranked.append((distance, longer_by, candidate))
    return min(ranked)[2] if ranked else None


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
