"""The target values that stepdown has to reach, absolute or relative to Kafka 3.9.1 on the same machine in the same
run.

A bar looks at one value of one case: of the ratios where it compares with Kafka, else of stepdown's medians.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from ..load.values import ValueKind
from ..results.results import Result, Value

MEBIBYTE = 1 << 20
COMPRESSED_DATA = (ValueKind.JSON, ValueKind.TEXT, ValueKind.LOGS)
COMPRESSED_BATCH_BYTES = (16_000, 64_000)
Verdict = Literal["met", "missed", "not measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`bound` is a least value, or a most value where `is_most`; with `is_ratio` of ours over Kafka's."""

    work: str
    bench: str
    value: str
    bound: float
    where: Mapping[str, Value] = field(default_factory=dict)
    is_ratio: bool = True
    is_most: bool = False

    def fits(self, result: Result) -> bool:
        """Whether a result is of the case that this bar looks at."""
        asked = all(result.case.get(name) == value for name, value in self.where.items())
        return result.bench == self.bench and asked and self.value in result.values

    def holds(self, value: float) -> bool:
        return value <= self.bound if self.is_most else value >= self.bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A bar, with what was measured in one case; None stands for what was not measured."""

    bar: Target
    ours: float | None = None
    theirs: float | None = None
    ratio: float | None = None
    case: Mapping[str, Value] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        value = self.ratio if self.bar.is_ratio else self.ours
        if value is None:
            return "not measured"
        return "met" if self.bar.holds(value) else "missed"


def judge(bars: Sequence[Target], results: Iterable[Result]) -> Iterator[Judged]:
    """Each bar with each case that it looks at; once, without figures, where nothing was measured for it."""
    known = list(results)
    for bar in bars:
        fitting = [result for result in known if bar.fits(result)]
        ours = [result for result in fitting if result.kind == "median" and result.server == "stepdown"]
        for each in ours:
            same = [result for result in fitting if result.case == each.case and result is not each]
            yield Judged(
                bar=bar,
                ours=each.values[bar.value],
                theirs=_value_of_kind(bar, same, "median"),
                ratio=_value_of_kind(bar, same, "ratio"),
                case=each.case,
            )
        if not ours:
            yield Judged(bar=bar)


def _value_of_kind(bar: Target, results: Sequence[Result], kind: str) -> float | None:
    return next((result.values[bar.value] for result in results if result.kind == kind), None)


def _rate_targets(
    work: str, bench: str, where: Mapping[str, Value], a_cpu_second: float, a_second: float
) -> list[Target]:
    """A bar for MB a CPU second of the server, and one for MB/s."""
    return [
        Target(work=work, bench=bench, value="mb_per_cpu_s", bound=a_cpu_second, where=where),
        Target(work=work, bench=bench, value="mb_per_s", bound=a_second, where=where),
    ]


def _targets_of_each_data(
    work: str, bench: str, where: Mapping[str, Value], a_cpu_second: float, a_second: float
) -> Iterator[Target]:
    """Bars for what people send, in batches of 16 and 64 kB."""
    for data, batch_bytes in product(COMPRESSED_DATA, COMPRESSED_BATCH_BYTES):
        case = {**where, "data": str(data), "batch_bytes": batch_bytes}
        yield from _rate_targets(
            f"{work}, {data}, {batch_bytes // 1000} kB batches", bench, case, a_cpu_second, a_second
        )


def _fetch_case(version: int, record_bytes: int = 1000, codec: str = "none", readers: int = 1) -> dict[str, Value]:
    return {"fetch_version": version, "record_bytes": record_bytes, "codec": codec, "readers": readers}


BARS = (
    *_rate_targets("v2 to v1, 1 kB plain", "fetch", _fetch_case(2), 2.5, 1.5),
    *_rate_targets("v2 to v0, 1 kB plain", "fetch", _fetch_case(0), 2.5, 1.5),
    *_rate_targets("v2 to v1, 100 B plain", "fetch", _fetch_case(2, 100), 4.0, 2.5),
    *_rate_targets("v2 to v1, 10 kB plain", "fetch", _fetch_case(2, 10_000), 2.5, 1.5),
    *_targets_of_each_data("v2 to v1, lz4", "fetch", {"fetch_version": 2, "codec": "lz4"}, 1.5, 1.3),
    *_targets_of_each_data("v2 to v1, snappy", "fetch", {"fetch_version": 2, "codec": "snappy"}, 1.5, 1.3),
    *_targets_of_each_data("v2 to v1, gzip", "fetch", {"fetch_version": 2, "codec": "gzip"}, 2.5, 1.3),
    *_rate_targets("not converted, 1 kB", "fetch", _fetch_case(4), 1.0, 1.0),
    *_rate_targets("v2 to v1, 1 kB plain, 8 readers", "fetch", _fetch_case(2, readers=8), 3.0, 1.4),
    *_rate_targets("produce, 64 kB batches", "produce", {"batch_bytes": 64_000, "codec": "none"}, 1.0, 1.0),
    *_targets_of_each_data("produce, lz4", "produce", {"codec": "lz4"}, 1.2, 1.0),
    *_targets_of_each_data("produce, snappy", "produce", {"codec": "snappy"}, 1.2, 1.0),
    *_targets_of_each_data("produce, gzip", "produce", {"codec": "gzip"}, 1.2, 1.0),
    *_targets_of_each_data("produce, zstd", "produce", {"codec": "zstd"}, 1.2, 1.0),
    Target(
        work="produce, 1.8 kB batches",
        bench="produce",
        value="requests_per_cpu_s",
        bound=0.5,
        where={"batch_bytes": 1_800},
    ),
    Target(
        work="produce, 1.8 kB batches",
        bench="produce",
        value="requests_per_s",
        bound=0.5,
        where={"batch_bytes": 1_800},
    ),
    Target(
        work="produce while 8 old readers convert",
        bench="mixed",
        value="produce_p99_ms",
        bound=1.0,
        where={"old_readers": 8},
        is_most=True,
    ),
    Target(
        work="memory above idle",
        bench="memory",
        value="above_idle_bytes",
        bound=32 * MEBIBYTE,
        is_ratio=False,
        is_most=True,
    ),
    Target(
        work="start, nothing stored",
        bench="start",
        value="ready_s",
        bound=0.5,
        where={"partitions": 0},
        is_ratio=False,
        is_most=True,
    ),
    Target(
        work="idle memory, nothing stored",
        bench="start",
        value="idle_rss_bytes",
        bound=45e6,
        where={"partitions": 0},
        is_ratio=False,
        is_most=True,
    ),
    Target(
        work="start, 10,000 partitions",
        bench="start",
        value="ready_s",
        bound=5.0,
        where={"partitions": 10_000},
        is_ratio=False,
        is_most=True,
    ),
)
"""The bars, in the order that they are shown."""
