"""A run as one HTML file: its machine, a table and pictures of each bench. The extra `bench` has what draws them."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...bench.results.results import Journal, Result, Sample, config_of, settings_that_differ
from ..support.failures import CommandFailure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...pipeline.report_picture import Picture

MEBIBYTE = 1 << 20
COLOURS = {"stepdown": "#2563eb", "kafka": "#a3a3a3"}
PLOTTED = {
    "memory": ("above_idle_bytes",),
    "produce": ("mb_per_s", "mb_per_cpu_s", "requests_per_s", "p99_ms"),
    "mixed": ("produce_p99_ms", "fetch_p99_ms", "converted_mb_per_s"),
    "start": ("ready_s", "idle_rss_bytes"),
    "cleaning": ("quiet_p99_ms", "cleaning_p99_ms", "cleaning_s"),
} | dict.fromkeys(("convert", "chunks", "fetch"), ("mb_per_s", "mb_per_cpu_s", "p99_ms"))
"""The values that have a plot, by bench."""
SAMPLED = {
    "rss_bytes": "RSS",
    "budget_in_use_bytes": "conversion memory in use",
    "budget_limit_bytes": "conversion memory there is",
}
LEGEND_SIZE = 8


def write_report(journal: Journal, path: Path) -> None:
    """Writes the report of one run. Raises: CommandFailure when matplotlib is not installed."""
    try:
        from ...pipeline.html_report import ReportSection, write_page
    except ImportError as missing:
        advice = "pip install '.[bench]' where stepdown's sources are"
        raise CommandFailure("a report needs matplotlib", advice) from missing
    about = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in journal.machine.items())
    sections = [
        ReportSection(
            title=bench, about=about, rows=_table_rows(of_bench), picture=_draw_plots(bench, of_bench, journal.samples)
        )
        for bench in dict.fromkeys(result.bench for result in journal.results)
        for of_bench in [[result for result in journal.results if result.bench == bench]]
    ]
    write_page(path, "stepdown bench", sections)


def _table_rows(results: Sequence[Result]) -> list[dict[str, object]]:
    """Medians and ratios; the columns of all."""
    shown = [result for result in results if result.kind != "round"]
    names = dict.fromkeys(name for result in shown for name in result.values)
    return [
        {"server": f"{result.server} {result.version}", **result.case}
        | {name: result.values.get(name) for name in names}
        for result in shown
    ]


def _draw_plots(bench: str, results: Sequence[Result], samples: Sequence[Sample]) -> "Picture | None":
    """One plot below the other: those of the bench's values, then memory over time of each server and case."""
    from matplotlib.figure import Figure

    from ...pipeline.report_picture import Picture

    medians = [result for result in results if result.kind == "median"]
    values = [name for name in PLOTTED.get(bench, ()) if any(name in median.values for median in medians)]
    first_round = [sample for sample in samples if sample.bench == bench and sample.round == 1]
    by_config = [
        (config, list(each)) for config, each in groupby(sorted(first_round, key=_config_of_sample), _config_of_sample)
    ]
    plots = len(values) + len(by_config)
    if not plots:
        return None
    figure = Figure(figsize=(9.0, 3.2 * plots), layout="constrained")
    all_axes = figure.subplots(plots, 1, squeeze=False)[:, 0]
    for axes, name in zip(all_axes, values, strict=False):
        _draw_values(axes, name, results)
    for axes, (config, of_config) in zip(all_axes[len(values) :], by_config, strict=True):
        _draw_samples(axes, config, of_config)
    return Picture(name=bench, figure=figure)


def _config_of_sample(sample: Sample) -> str:
    return config_of(sample.server, sample.version, sample.case)


def _draw_values(axes: "Axes", name: str, results: Sequence[Result]) -> None:
    """Bars of the medians of a value, a group for each case, with the rounds as dots."""
    medians = [result for result in results if result.kind == "median" and name in result.values]
    settings, scale = settings_that_differ(medians), MEBIBYTE if name.endswith("_bytes") else 1
    cases = list(dict.fromkeys(_case_name(result, settings) for result in medians))
    servers = list(dict.fromkeys((result.server, result.version) for result in medians))
    width = 0.8 / len(servers)
    for index, (server, version) in enumerate(servers):
        shift = width * (index - (len(servers) - 1) / 2)
        of_server = [r for r in results if (r.server, r.version) == (server, version) and name in r.values]
        for kind in ("median", "round"):
            shown = [result for result in of_server if result.kind == kind]
            at = [cases.index(_case_name(result, settings)) + shift for result in shown]
            values = [result.values[name] / scale for result in shown]
            if kind == "median":
                axes.bar(at, values, width * 0.95, label=f"{server} {version}", color=COLOURS.get(server))
            else:
                axes.plot(at, values, ".", color="#111827", ms=3)
    labels = cases if len(cases) > 1 else [""]
    axes.set_xticks(range(len(cases)), labels, rotation=20, ha="right", fontsize=LEGEND_SIZE)
    axes.set_ylabel(name.removesuffix("_bytes").replace("_", " ") + (" MiB" if scale > 1 else ""))
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=LEGEND_SIZE)


def _draw_samples(axes: "Axes", title: str, samples: Sequence[Sample]) -> None:
    """RSS and conversion memory over time, of one server in one case."""
    for metric, label in SAMPLED.items():
        points = [(sample.t_s, sample.value / MEBIBYTE) for sample in samples if sample.metric == metric]
        if points:
            axes.plot(*zip(*points, strict=True), label=label)
    axes.set_title(title, fontsize=LEGEND_SIZE - 1)
    axes.set_xlabel("seconds")
    axes.set_ylabel("MiB")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=LEGEND_SIZE)


def _case_name(result: Result, settings: Sequence[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {result.case[name]}" for name in settings)
