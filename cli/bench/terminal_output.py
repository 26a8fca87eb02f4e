"""What `stepdown bench` shows: what it is doing, and a table of medians and ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from ..support.terminal_tables import print_table

if TYPE_CHECKING:
    from ...bench.results.results import Result

MEBIBYTE = 1 << 20
COLUMNS = {
    "convert": ("mb_per_s", "mb_per_cpu_s", "p50_ms", "p99_ms", "loop_p99_ms", "server_cpu", "load_cpu"),
    "memory": (
        "idle_rss_bytes",
        "peak_rss_bytes",
        "above_idle_bytes",
        "budget_peak_bytes",
        "out_of_memory",
        "readers_lost",
        "received_bytes",
    ),
    "produce": (
        "records_per_s",
        "mb_per_s",
        "mb_per_cpu_s",
        "requests_per_s",
        "p50_ms",
        "p99_ms",
        "server_cpu",
        "load_cpu",
    ),
    "mixed": ("produce_p50_ms", "produce_p99_ms", "fetch_p50_ms", "fetch_p99_ms", "converted_mb_per_s", "server_cpu"),
    "cleaning": (
        "quiet_p99_ms",
        "cleaning_p99_ms",
        "slowdown",
        "cleaning_s",
        "above_idle_bytes",
        "log_bytes",
        "left_bytes",
        "left_records",
        "wrong_records",
    ),
    "start": ("ready_s", "ready_cpu_s", "idle_rss_bytes", "rss_a_partition_kib"),
}
COLUMNS |= dict.fromkeys(("chunks", "fetch"), COLUMNS["convert"])
"""The values that a table shows, by bench; the JSON lines have all."""
TITLES = {
    "mb_per_s": "MB/s",
    "mb_per_cpu_s": "MB/CPU s",
    "records_per_s": "records/s",
    "requests_per_s": "requests/s",
    "server_cpu": "server CPUs",
    "load_cpu": "load CPUs",
    "seconds": "s",
    "ready_s": "ready s",
    "ready_cpu_s": "CPU s until ready",
}


@contextmanager
def show_progress_lines() -> Iterator[Callable[[str], None]]:
    """Gives a function that shows a line of progress on stderr: in place on a terminal, elsewhere one a line."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda text: console.print(text, soft_wrap=True)
        return
    with console.status("starting") as status:
        yield status.update


def print_results(results: Sequence[Result]) -> None:
    """The medians of each case, and under them stepdown's as parts of the peer's; a table a bench."""
    shown = [result for result in results if result.kind in ("median", "ratio")]
    for bench in dict.fromkeys(result.bench for result in shown):
        _print_bench([result for result in shown if result.bench == bench])


def _print_bench(shown: Sequence[Result]) -> None:
    from ...bench.results.results import settings_that_differ

    is_one_case = all(result.case == shown[0].case for result in shown)
    settings = [] if is_one_case else settings_that_differ(shown)
    values = COLUMNS[shown[0].bench]
    titles = [_column_title(name) for name in values]
    rows = [
        [
            f"{result.server} {result.version}" if result.kind == "median" else "ratio",
            *(result.case[name] for name in settings),
            *(_format_value(name, result) for name in values),
        ]
        for result in shown
    ]
    print_table(["server", *settings, *titles], rows, numeric=[*settings, *titles])


def _column_title(name: str) -> str:
    if name.endswith("_bytes"):
        return name.removesuffix("_bytes").replace("_", " ") + " MiB"
    return TITLES.get(name, name.replace("_", " "))


def _format_value(name: str, result: Result) -> str:
    value = result.values.get(name)
    if value is None:
        return ""
    if result.kind == "ratio":
        return f"×{value:.2f}"
    if name.endswith("_bytes"):
        return f"{value / MEBIBYTE:.1f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}".rstrip("0").rstrip(".")
