"""The pictures: axes from 0, medians as bars, runs and their spread shown. Each is one PNG and one SVG."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..report_picture import Picture
from .tables import PERCENTILES, Row

MEBIBYTE = 1 << 20
SMALL = 8
DRAWN_CONFIGS = 8
"""A picture of memory over time has so many panels at most; the table has all."""
_LABELS = {"rss_bytes": "RSS", "budget_in_use_bytes": "conversion memory in use"}


def draw_throughput(rows: Sequence[Row]) -> Picture:
    """Bars by chunk size, a colour for each server; lines from the slowest to the fastest round."""
    sizes = list(dict.fromkeys(row["chunk_bytes"] for row in rows))
    return _bars("throughput", rows, sizes, "server", "chunk_bytes", "mb_per_s", "MB/s")


def draw_latency(rows: Sequence[Row]) -> Picture:
    """Bars by percentile, a colour for each config and client; lines over p99 from the best to the worst run."""
    flat = [
        {
            "who": f"{row['config']} {row['client']}".strip(),
            "percentile": name,
            "ms": row[f"{name}_ms"],
            "ms_least": row["p99_least_ms"] if name == "p99" else row[f"{name}_ms"],
            "ms_most": row["p99_most_ms"] if name == "p99" else row[f"{name}_ms"],
        }
        for row in rows
        for name in PERCENTILES
    ]
    return _bars("latency", flat, list(PERCENTILES), "who", "percentile", "ms", "milliseconds")


def draw_memory(rows: Sequence[Row]) -> Picture:
    """Memory over time, a panel for each config; each round is a line, the budget's limit is dashed."""
    configs = list(dict.fromkeys(row["config"] for row in rows))[:DRAWN_CONFIGS]
    figure = Figure(figsize=(9.0, 2.6 * len(configs)), layout="constrained")
    panels = figure.subplots(len(configs), 1, squeeze=False)
    for axes, config in zip((each for line in panels for each in line), configs, strict=True):
        _draw_panel(axes, config, [row for row in rows if row["config"] == config])
    return Picture(name="memory", figure=figure)


def _draw_panel(axes: Axes, config: str, rows: Sequence[Row]) -> None:
    lines: dict[tuple[str, Any, Any], list[Row]] = {}
    for row in rows:
        lines.setdefault((row["metric"], row["run"], row["round"]), []).append(row)
    labelled: set[str] = set()
    for (metric, _, _), points in lines.items():
        if metric == "budget_limit_bytes":
            limit = max(point["value"] for point in points) / MEBIBYTE
            axes.axhline(limit, linestyle="--", color="#b91c1c", label=None if metric in labelled else "limit")
        else:
            axes.plot(
                [point["t_s"] for point in points],
                [point["value"] / MEBIBYTE for point in points],
                color="#2563eb" if metric == "rss_bytes" else "#d97706",
                label=None if metric in labelled else _LABELS[metric],
            )
        labelled.add(metric)
    axes.set_title(config, fontsize=SMALL + 1)
    axes.set_xlabel("seconds", fontsize=SMALL)
    axes.set_ylabel("MiB")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(fontsize=SMALL)


def _bars(
    name: str, rows: Sequence[Mapping[str, Any]], groups: Sequence[str], colour: str, group: str, value: str, unit: str
) -> Picture:
    """Bars of `value` with a line from its `_least` to its `_most`; one place for each group."""
    series = list(dict.fromkeys(row[colour] for row in rows))
    figure = Figure(figsize=(max(6.0, 0.9 * len(groups) * max(1, len(series) / 2)), 3.4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / max(1, len(series))
    for index, each in enumerate(series):
        mine = [row for row in rows if row[colour] == each]
        places = [groups.index(row[group]) + width * (index - (len(series) - 1) / 2) for row in mine]
        heights = [row[value] for row in mine]
        below = [row[value] - row[f"{value}_least"] for row in mine]
        above = [row[f"{value}_most"] - row[value] for row in mine]
        axes.bar(places, heights, width * 0.95, label=each, yerr=(_positive(below), _positive(above)), capsize=2)
    axes.set_xticks(range(len(groups)), groups, fontsize=SMALL)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=SMALL)
    return Picture(name=name, figure=figure)


def _positive(values: Sequence[float]) -> list[float]:
    """A median of runs may lie outside the spread of single runs' percentiles; a line has no length below 0."""
    return [max(0.0, value) for value in values]
