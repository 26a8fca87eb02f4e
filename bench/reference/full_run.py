"""The reference benchmark run (one hour), compared with the target values in `target_values.py`, and its summary.

What is compared with Kafka comes first, then what stepdown has to reach by itself: memory and start. Every case has
its rounds; memory has one, since a peak is no matter of chance.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...protocol.records.layout import Codec
from ..alternating_runs import ShowProgress, Terms
from ..cases.downconversion_memory import MemoryTest, Readers, run_memory
from ..cases.fetching import FetchGrid, run_fetches
from ..cases.old_and_new_consumers import run_old_and_new
from ..cases.producing import ProduceGrid, run_produce
from ..cases.starting import StartDirectory, run_starts
from ..load.produce_and_fetch_requests import ProduceRequests
from ..results.results import Journal, Result
from ..servers.maven import MavenStore
from .target_values import BARS, COMPRESSED_BATCH_BYTES, COMPRESSED_DATA, MEBIBYTE, Judged, judge

COMPRESSED_RECORD_BYTES = 600

GRIDS = (
    FetchGrid(versions=(2, 0, 4)),
    FetchGrid(versions=(2,), readers=(8,)),
    FetchGrid(versions=(2,), record_bytes=(100, 10_000)),
    FetchGrid(
        versions=(2,),
        codecs=(Codec.LZ4, Codec.SNAPPY, Codec.GZIP),
        data=COMPRESSED_DATA,
        record_bytes=(COMPRESSED_RECORD_BYTES,),
        batch_bytes=COMPRESSED_BATCH_BYTES,
    ),
)
PRODUCE_GRIDS = (
    ProduceGrid(),
    ProduceGrid(
        codecs=(Codec.LZ4, Codec.SNAPPY, Codec.GZIP, Codec.ZSTD),
        data=COMPRESSED_DATA,
        batch_bytes=COMPRESSED_BATCH_BYTES,
    ),
)
CONVERTED_VERSION = 2
OLD_READERS = (8,)
MIXED_TIMES = 3
"""How often as long a turn of `mixed` is: its requests keep to a pace, and a 99th percentile wants many."""
STALLING_SHARE = 0.75
SAMPLES_EVERY_S = 1.0
"""The run is kept beside the code, so it keeps few samples."""
TITLES = {
    "mb_per_cpu_s": "MB per server CPU second",
    "mb_per_s": "MB/s",
    "requests_per_cpu_s": "requests per server CPU second",
    "requests_per_s": "requests/s",
    "produce_p99_ms": "p99 ms",
    "above_idle_bytes": "MiB",
    "idle_rss_bytes": "MiB",
    "ready_s": "s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExtent:
    """How much is written and who reads; smaller than this nothing is proved, but it can be tried out."""

    memory: MemoryTest
    memory_readers: Sequence[int] = (1, 20)
    memory_codecs: Sequence[Codec] = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
    giant_bytes: int = 100_000_000
    partitions: Sequence[int] = (0, 10_000)

    @property
    def memory_tests(self) -> Iterator[MemoryTest]:
        """The test with each codec, and the plain one behind a giant batch."""
        for codec in self.memory_codecs:
            yield replace(self.memory, codec=codec)
        yield replace(self.memory, giant_bytes=self.giant_bytes)


def run_reference(
    extent: RunExtent,
    folder: Path,
    maven: MavenStore,
    terms: Terms,
    heap: str,
    journal: Journal,
    show_progress: ShowProgress,
) -> list[Result]:
    """Measures everything that a bar looks at."""
    run_fetches("fetch", GRIDS, folder, maven, terms, heap, journal, show_progress)
    for grid in PRODUCE_GRIDS:
        run_produce(grid, ProduceRequests(), folder, maven, terms, heap, journal, show_progress)
    longer = replace(terms, seconds=MIXED_TIMES * terms.seconds)
    run_old_and_new(OLD_READERS, folder, maven, longer, heap, journal, show_progress)
    alone = replace(terms, peer="none", samples_every_s=SAMPLES_EVERY_S)
    readers = [Readers.of(CONVERTED_VERSION, count, STALLING_SHARE) for count in extent.memory_readers]
    run_memory(
        list(extent.memory_tests), readers, folder, maven, replace(alone, rounds=1), heap, journal, show_progress
    )
    run_starts(StartDirectory(partitions=extent.partitions), folder, maven, alone, heap, journal, show_progress)
    return journal.results


def summary(journal: Journal) -> str:
    """A page in Markdown: what was measured on what, and each bar with its verdict."""
    judged = list(judge(BARS, journal.results))
    versions = dict.fromkeys(f"{each.server} {each.version}" for each in journal.results if each.kind == "median")
    about = [f"{name.replace('_', ' ')} {value}" for name, value in journal.machine.items()]
    met = sum(each.verdict == "met" for each in judged)
    rounds = max((each.round for each in journal.results), default=0)
    lines = [
        f"# Reference run {journal.run}",
        "",
        f"{', '.join(versions)}. Medians of {rounds} rounds, interleaved; of memory one. "
        "`make bench-reference` repeats it.",
        "",
        f"Machine: {', '.join(about)}.",
        "",
        f"{met} of {len(judged)} bars met.",
        "",
        "| work | figure | stepdown | Kafka | ratio | bar | |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(_cells(each))} |" for each in judged),
    ]
    return "\n".join(lines) + "\n"


def _cells(judged: Judged) -> Iterable[str]:
    bar = judged.bar
    scale = MEBIBYTE if bar.value.endswith("_bytes") else 1
    yield bar.work + _describe_case(judged)
    yield TITLES[bar.value]
    yield _figure(judged.ours, scale)
    yield _figure(judged.theirs, scale)
    yield "" if judged.ratio is None else f"{judged.ratio:.2f}×"
    yield f"{'≤' if bar.is_most else '≥'} " + (f"{bar.bound:.3g}×" if bar.is_ratio else f"{bar.bound / scale:.3g}")
    yield judged.verdict if judged.verdict == "met" else f"**{judged.verdict}**"


def _describe_case(judged: Judged) -> str:
    """The case of a memory test, since one bar is for all memory tests; else ""."""
    if judged.bar.bench != "memory" or not judged.case:
        return ""
    codec, readers = judged.case["codec"], judged.case["readers"]
    giant = ", giant batch" if judged.case["giant_bytes"] else ""
    return f": {codec}, {readers} reader{'s' if readers != 1 else ''}{giant}"


def _figure(value: float | None, scale: float) -> str:
    if value is None:
        return ""
    scaled = value / scale
    return f"{scaled:,.0f}" if scaled >= 100 else f"{scaled:.3g}"
