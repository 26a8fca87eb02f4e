# cython: language_level=3
"""A counter and a histogram; compiled, since every request uses them. Uncompiled, this file is the readable twin."""

from __future__ import annotations

import cython

COMPILED: bool = cython.compiled


@cython.final
@cython.cclass
class Counter:
    """A number that only grows."""

    value = cython.declare(cython.double, visibility="public")

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, amount: cython.double = 1.0) -> None:
        self.value += amount


@cython.final
@cython.cclass
class Histogram:
    """Counts observations by upper bound."""

    bounds = cython.declare(tuple, visibility="readonly")
    counts = cython.declare(list, visibility="readonly")
    total = cython.declare(cython.double, visibility="readonly")

    def __init__(self, bounds: tuple) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: cython.double) -> None:
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = len(self.bounds)
        middle: cython.Py_ssize_t
        bound: cython.double
        while low < high:
            middle = (low + high) >> 1
            bound = self.bounds[middle]
            if bound < value:
                low = middle + 1
            else:
                high = middle
        self.counts[low] += 1
        self.total += value

    def observe_zero(self) -> None:
        """Same as `observe(0)`, but faster: for amounts that are zero for most requests."""
        self.counts[0] += 1

    def cumulative_counts(self) -> list:
        """Pairs of an upper bound and the count of observations at or below it, ending with +Inf."""
        rows, seen = [], 0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            seen += count
            rows.append((repr(bound), float(seen)))
        return [*rows, ("+Inf", float(seen + self.counts[-1]))]
