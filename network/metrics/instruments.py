"""Counters, gauges and histograms cheap enough for every request, shown through prometheus-client.

The client library takes a lock and walks its buckets in Python for each observation. Here an observation is an addition
and a bisection in the event loop's thread; a scrape makes the library's metric families of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from ..turn import Turn
from .counts import Counter, Histogram

DURATION_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZE_BUCKETS = tuple(float(256 * 4**n) for n in range(11))


GaugeRow = tuple[tuple[str, ...], float]
HistogramRow = tuple[tuple[str, ...], list[tuple[str, float]], float]
R = TypeVar("R")


class FamilySnapshot(NamedTuple):
    """The rows of a family as they were at one time. `kind`: counter, gauge or histogram."""

    kind: str
    name: str
    help: str
    labels: Sequence[str]
    rows: Sequence[Any]


def sum_rows(amounts: Iterable[GaugeRow], *, shown: Iterable[tuple[str, ...]] = ()) -> Iterator[GaugeRow | None]:
    """Yields None for each amount, then the sum for each set of label values. `shown`: label values that have a row
    even without amounts.
    """
    sums = dict.fromkeys(shown, 0.0)
    for values, amount in amounts:
        sums[values] = sums.get(values, 0.0) + amount
        yield None
    yield from sums.items()


def sum_as_one_row(amounts: Iterable[float]) -> Iterator[GaugeRow | None]:
    """Yields None for each amount, then their sum as the one row of a gauge without labels."""
    return sum_rows((((), amount) for amount in amounts), shown=[()])


class _Family(ABC, Generic[R]):
    """All metrics of one name: a row for each set of label values."""

    kind: str

    def __init__(self, name: str, help: str, labels: Sequence[str]) -> None:
        self.name, self.help, self.labels = name, help, tuple(labels)

    @abstractmethod
    def iterate_rows(self) -> Iterator[R | None]:
        """Yields the current rows one by one, or None where it only counted; the caller may yield to the loop after
        each.
        """

    def rows(self) -> list[R]:
        """The current rows, all at once."""
        return [row for row in self.iterate_rows() if row is not None]

    async def take_snapshot(self, turn: Turn) -> FamilySnapshot:
        """Reads the current rows in turns."""
        rows = []
        for row in self.iterate_rows():
            if row is not None:
                rows.append(row)
            await turn.next()
        return FamilySnapshot(self.kind, self.name, self.help, self.labels, rows)


class CounterFamily(_Family[GaugeRow]):
    """One counter for each set of label values, at most `limit`; all further ones are counted as "other"."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), limit: int = 100_000) -> None:
        super().__init__(name, help, labels)
        self._limit = limit
        self._children: dict[tuple[str, ...], Counter] = {}
        if not labels:
            self._children[()] = Counter()

    def of(self, *values: str) -> Counter:
        """The counter for these label values."""
        child = self._children.get(values)
        if child is None:
            if len(self._children) >= self._limit:
                values = ("other",) * len(self.labels)
            child = self._children.setdefault(values, Counter())
        return child

    def forget(self, *values: str) -> None:
        """Drops the counter for these label values."""
        self._children.pop(values, None)

    def iterate_rows(self) -> Iterator[GaugeRow]:
        return ((values, child.value) for values, child in tuple(self._children.items()))


class HistogramFamily(_Family[HistogramRow]):
    """One histogram for each set of label values. There is no limit, so clients must not choose the values."""

    kind = "histogram"

    def __init__(self, name: str, help: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self.bounds = tuple(bounds)
        self._children: dict[tuple[str, ...], Histogram] = {}
        if not labels:
            self._children[()] = Histogram(self.bounds)

    def of(self, *values: str) -> Histogram:
        child = self._children.get(values)
        if child is None:
            child = self._children.setdefault(values, Histogram(self.bounds))
        return child

    def observe(self, value: float) -> None:
        self._children[()].observe(value)

    def iterate_rows(self) -> Iterator[HistogramRow]:
        return ((values, child.cumulative_counts(), child.total) for values, child in tuple(self._children.items()))


Read = Callable[[], float | Iterable[GaugeRow | None]]
"""Returns one number, or rows of (label values, number), with None for each step that makes no row."""


class GaugeFamily(_Family[GaugeRow]):
    """Gauges that are read at scrape time."""

    kind = "gauge"

    def __init__(self, name: str, help: str, read: Read, labels: Sequence[str] = ()) -> None:
        super().__init__(name, help, labels)
        self._read = read

    def iterate_rows(self) -> Iterator[GaugeRow | None]:
        value = self._read()
        return iter([((), float(value))] if isinstance(value, int | float) else value)


class TallyFamily(GaugeFamily):
    """Counters that are kept elsewhere and read at scrape time, as gauges are."""

    kind = "counter"


F = TypeVar("F", CounterFamily, HistogramFamily, GaugeFamily, TallyFamily)


class Instruments:
    """The metrics of one broker or gateway."""

    def __init__(self) -> None:
        self._families: list[CounterFamily | HistogramFamily | GaugeFamily] = []

    def counter(self, name: str, help: str, *labels: str, limit: int = 100_000) -> CounterFamily:
        """Makes a family of counters. `limit`: see `CounterFamily`; for label values that clients choose."""
        return self._add_family(CounterFamily(name, help, labels, limit))

    def plain_counter(self, name: str, help: str) -> Counter:
        """Makes a counter without labels."""
        return self._add_family(CounterFamily(name, help)).of()

    def histogram(self, name: str, help: str, bounds: Sequence[float], *labels: str) -> HistogramFamily:
        return self._add_family(HistogramFamily(name, help, bounds, labels))

    def gauge(self, name: str, help: str, read: Read, *labels: str) -> GaugeFamily:
        return self._add_family(GaugeFamily(name, help, read, labels))

    def tally(self, name: str, help: str, read: Read, *labels: str) -> TallyFamily:
        """Makes a family of counters whose values `read` returns; they must never fall."""
        return self._add_family(TallyFamily(name, help, read, labels))

    def _add_family(self, family: F) -> F:
        self._families.append(family)
        return family

    async def take_snapshot(self, turn: Turn) -> list[FamilySnapshot]:
        """Reads the current rows of all families, in turns."""
        return [await family.take_snapshot(turn) for family in self._families]

    def forget_topics(self, names: Sequence[str]) -> None:
        """Drops the counters of deleted topics."""
        for family in self._families:
            if isinstance(family, CounterFamily) and family.labels == ("topic",):
                for name in names:
                    family.forget(name)
