"""A report that needs nothing beside itself: one HTML file with tables, and plots as SVG inside.

matplotlib draws; it comes with the extra `stepdown[bench]` and is imported only here, when a report is asked for.
"""

import html
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .failures import BenchFailed
from .results import Result, Value, machine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEBIBYTE = 1 << 20
COLOURS = {"stepdown": "#2563eb", "kafka": "#a3a3a3"}
RATES = ("mb_per_s", "mb_per_cpu_s")
LEGEND_SIZE = 8
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1f2937}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;border-bottom:1px solid #e5e7eb;text-align:right}
th:first-child,td:first-child{text-align:left}
tr.ratio{font-weight:600}h2{margin-top:2.5rem}svg{max-width:100%;height:auto}.machine{color:#6b7280}"""


def write_report(results: Sequence[Result], path: Path) -> None:
    """Writes the report of one run. Raises: BenchFailed when matplotlib is not installed."""
    sections = [_section(bench, list(found)) for bench, found in _by_bench(results).items()]
    about = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine().items())
    path.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>stepdown bench</title><style>{STYLE}</style>"
        f"<h1>stepdown bench</h1><p class=machine>{html.escape(about)}</p>{''.join(sections)}</html>\n"
    )


def _by_bench(results: Iterable[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.bench, []).append(result)
    return found


def _section(bench: str, results: Sequence[Result]) -> str:
    plots = [_plot_memory(results)] if bench == "memory" else [_plot_values(results, name) for name in RATES]
    tables = _table([result for result in results if result.kind in ("median", "ratio")])
    return f"<h2>{html.escape(bench)}</h2>{''.join(plot for plot in plots if plot)}{tables}"


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
    cases = list({_case_name(result.case): result.case for result in medians})
    servers = list(dict.fromkeys((result.server, result.version) for result in medians))
    figure, axes = _figure_with_axes(len(cases))
    width = 0.8 / len(servers)
    for index, (server, version) in enumerate(servers):
        places = {case: at + width * (index - (len(servers) - 1) / 2) for at, case in enumerate(cases)}
        ours = [result for result in medians if (result.server, result.version) == (server, version)]
        axes.bar(
            [places[_case_name(result.case)] for result in ours],
            [result.values[name] for result in ours],
            width * 0.95,
            label=f"{server} {version}",
            color=COLOURS.get(server),
        )
        dots = [r for r in results if r.kind == "round" and (r.server, r.version) == (server, version)]
        axes.plot(
            [places[_case_name(r.case)] for r in dots], [r.values[name] for r in dots], ".", color="#111827", ms=3
        )
    axes.set_xticks(range(len(cases)), cases, rotation=20, ha="right", fontsize=LEGEND_SIZE)
    axes.set_ylabel(name.replace("_", " "))
    axes.legend(fontsize=LEGEND_SIZE)
    return _svg(figure)


def _plot_memory(results: Sequence[Result]) -> str:
    """RSS and the memory budget over time, a panel for each case and server."""
    series: dict[str, list[Result]] = {}
    for result in results:
        if result.kind == "sample" and result.round == 1:
            series.setdefault(f"{result.server} {result.version}: {_case_name(result.case)}", []).append(result)
    if not series:
        return ""
    plots = []
    for title, samples in series.items():
        figure, axes = _figure_with_axes(4)
        for name, label in (("rss_bytes", "RSS"), ("budget_in_use_bytes", "conversion memory in use")):
            points = [(r.values["t_s"], r.values[name] / MEBIBYTE) for r in samples if name in r.values]
            if points:
                axes.plot(*zip(*points, strict=True), label=label)
        axes.set_title(title, fontsize=LEGEND_SIZE + 1)
        axes.set_xlabel("seconds")
        axes.set_ylabel("MiB")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=LEGEND_SIZE)
        plots.append(_svg(figure))
    return "".join(plots)


def _figure_with_axes(columns: int) -> "tuple[Figure, Axes]":
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise BenchFailed("a report needs matplotlib: pip install 'stepdown[bench]'") from missing
    figure = Figure(figsize=(max(6.0, 1.6 * columns), 3.2), layout="constrained")
    return figure, figure.subplots()


def _svg(figure: "Figure") -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg")
    text = out.getvalue()
    return text[text.index("<svg") :]


def _case_name(case: Mapping[str, Value]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in case.items())
