"""Renders a self-contained HTML report: tables, and plots as inline SVG.

matplotlib draws; it comes with the extra `stepdown[bench]` and is imported only here, when a report is asked for.
"""

import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..failures import BenchFailed
from .results import Journal, Result, Sample, config_of, settings_that_differ

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1f2937}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;border-bottom:1px solid #e5e7eb;text-align:right}
th:first-child,td:first-child{text-align:left}
tr.ratio{font-weight:600}h2{margin-top:2.5rem}svg{max-width:100%;height:auto}.machine{color:#6b7280}"""


def write_report(journal: Journal, path: Path) -> None:
    """Writes the report of one run. Raises: BenchFailed when matplotlib is not installed."""
    benches = dict.fromkeys(result.bench for result in journal.results)
    sections = [_section(bench, journal) for bench in benches]
    about = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in journal.machine.items())
    path.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>stepdown bench</title><style>{STYLE}</style>"
        f"<h1>stepdown bench</h1><p class=machine>{html.escape(about)}</p>{''.join(sections)}</html>\n"
    )


def _section(bench: str, journal: Journal) -> str:
    results = [result for result in journal.results if result.bench == bench]
    samples = [sample for sample in journal.samples if sample.bench == bench and sample.round == 1]
    plots = [_plot_values(results, name) for name in PLOTTED.get(bench, ())]
    plots += [_plot_samples(config, of_one) for config, of_one in _by_config(samples).items()]
    tables = _table([result for result in results if result.kind != "round"])
    return f"<h2>{html.escape(bench)}</h2>{''.join(plots)}{tables}"


def _by_config(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        found.setdefault(config_of(sample.server, sample.version, sample.case), []).append(sample)
    return found


def _table(results: Sequence[Result]) -> str:
    if not results:
        return ""
    settings, values = list(results[0].case), list(dict.fromkeys(name for r in results for name in r.values))
    head = "".join(f"<th>{html.escape(name)}" for name in ("server", *settings, *values))
    rows = []
    for result in results:
        cells = [f"{result.server} {result.version}", *(str(result.case[name]) for name in settings)]
        cells += [_figure(result.values.get(name)) for name in values]
        rows.append(f"<tr class={result.kind}>" + "".join(f"<td>{html.escape(cell)}" for cell in cells))
    return f"<table><tr>{head}{''.join(rows)}</table>"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _plot_values(results: Sequence[Result], name: str) -> str:
    """Bars of the medians of a value, a group for each case, with the rounds as dots."""
    medians = [result for result in results if result.kind == "median" and name in result.values]
    if not medians:
        return ""
    settings, scale = settings_that_differ(medians), MEBIBYTE if name.endswith("_bytes") else 1
    cases = list(dict.fromkeys(_case_name(result, settings) for result in medians))
    servers = list(dict.fromkeys((result.server, result.version) for result in medians))
    figure, axes = _figure_with_axes(len(cases))
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
    return _svg(figure)


def _plot_samples(title: str, samples: Sequence[Sample]) -> str:
    """RSS and conversion memory over time, of one server in one case."""
    figure, axes = _figure_with_axes(4)
    for metric, label in SAMPLED.items():
        points = [(sample.t_s, sample.value / MEBIBYTE) for sample in samples if sample.metric == metric]
        if points:
            axes.plot(*zip(*points, strict=True), label=label)
    axes.set_title(title, fontsize=LEGEND_SIZE - 1)
    axes.set_xlabel("seconds")
    axes.set_ylabel("MiB")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=LEGEND_SIZE)
    return _svg(figure)


def _figure_with_axes(columns: int) -> "tuple[Figure, Axes]":
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise BenchFailed("a report needs matplotlib: pip install '.[bench]' where stepdown's sources are") from missing
    figure = Figure(figsize=(max(6.0, 1.6 * columns), 3.2), layout="constrained")
    return figure, figure.subplots()


def _svg(figure: "Figure") -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg")
    text = out.getvalue()
    return text[text.index("<svg") :]


def _case_name(result: Result, settings: Sequence[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {result.case[name]}" for name in settings)
