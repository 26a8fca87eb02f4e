"""The census as a page: answers first, then its tables, and what topics hold, become and grow by as bars."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ..html_report import ReportSection, write_page
from ..report_picture import Picture
from .report_summary import SummaryScope, answers

REPORT = "report.html"
MEBIBYTE = 1 << 20
DRAWN_LETTERS = 22
DRAWN_DAILY = 6
DRAWN_DATES = 4
"""How many topics have a colour of their own by day, and how many dates are written below."""
DRAWN_TOPICS = 20
"""Topics of a picture: those with the most bytes. The table has all."""

Row = Mapping[str, object]
_ABOUT = {
    "formats": "Stored bytes by magic and codec, from the headers of the batches.",
    "topics": "converted share: of the bytes, what is converted down for the old clients; batch fill: bytes of a batch "
    "to batch.size; zstd bytes: what they cannot have at all.",
    "partitions": "skew: records of the largest partition to the mean (KIP-480 compares partitioners so).",
    "days": "Stored bytes by day (UTC) of the batches' largest timestamps.",
    "damage": "What cannot be read: bytes that are no batch (corrupt), offsets that no batch has (missing), or two "
    "segments have (overlapping). Checksums are not taken here.",
    "conversion": "What fetches of the old clients promise and would have to send (KIP-283), and what compressed "
    "batches do to the estimate of their ratio (KIP-126).",
}


def write_report(out: str, tables: Mapping[str, Sequence[Row]], counted: SummaryScope) -> None:
    """Write the page and its pictures, each also as PNG, to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    sections = [
        ReportSection(title=name, about=_ABOUT[name], rows=rows, picture=_picture(name, rows))
        for name, rows in tables.items()
        if rows
    ]
    for section in sections:
        if section.picture is not None:
            section.picture.save_png(folder)
    write_page(folder / REPORT, "What the segments hold", sections, answers(tables, counted))


def _picture(name: str, rows: Sequence[Row]) -> Picture | None:
    if name == "formats":
        bars: dict[str, dict[str, float]] = {_format(row): {} for row in rows}
        for row in rows:
            bars[_format(row)][str(row["topic"])] = _mebibytes(row["bytes"])
        return _draw(name, bars, stacked=True)
    if name == "days":
        return _draw_days(rows)
    if name == "conversion":
        columns = ("stored_bytes", "promised_bytes", "converted_bytes")
        bars = {column: {str(row["topic"]): _mebibytes(row[column]) for row in rows} for column in columns}
        return _draw(name, bars, stacked=False)
    return None


def _format(row: Row) -> str:
    return f"magic {row['magic']} {row['codec']}"


def _mebibytes(value: object) -> float:
    assert isinstance(value, int)
    return value / MEBIBYTE


def _draw(name: str, bars: Mapping[str, Mapping[str, float]], *, stacked: bool) -> Picture:
    """Bars by topic, a colour for each key of `bars`, on or beside each other; MiB from 0 on."""
    totals: dict[str, float] = {}
    for values in bars.values():
        for topic, value in values.items():
            totals[topic] = totals.get(topic, 0.0) + value
    topics = sorted(totals, key=lambda topic: -totals[topic])[:DRAWN_TOPICS]
    figure = Figure(figsize=(5.5, 1.2 + 0.4 * len(topics)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 if stacked else 0.8 / len(bars)
    left = [0.0] * len(topics)
    for number, (label, values) in enumerate(bars.items()):
        widths = [values.get(topic, 0.0) for topic in topics]
        shift = 0.0 if stacked else height * (number - (len(bars) - 1) / 2)
        axes.barh([place + shift for place in range(len(topics))], widths, height, left=left, label=label)
        if stacked:
            left = [before + width for before, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(topics)), [_short(topic) for topic in topics])
    axes.invert_yaxis()
    axes.set_xlabel("MiB")
    axes.set_xlim(left=0)
    axes.legend()
    return Picture(name=name, figure=figure)


def _short(name: str) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= DRAWN_LETTERS else f"{name[: DRAWN_LETTERS // 2]}…{name[-DRAWN_LETTERS // 2 :]}"


def _draw_days(rows: Sequence[Row]) -> Picture | None:
    """Bytes a day, the topics with the most bytes on each other and all others as one; MiB from 0 on."""
    dated = [row for row in rows if row["day"] is not None]
    totals: dict[str, float] = {}
    for row in dated:
        totals[str(row["topic"])] = totals.get(str(row["topic"]), 0.0) + _mebibytes(row["bytes"])
    named = sorted(totals, key=lambda topic: -totals[topic])[:DRAWN_DAILY]
    days = sorted({row["day"] for row in dated}, key=str)
    if not days:
        return None
    figure = Figure(figsize=(5.5, 2.6), layout="constrained")
    axes = figure.subplots()
    bottom = dict.fromkeys(days, 0.0)
    for label in [*named, *(["others"] if len(totals) > len(named) else [])]:
        heights = dict.fromkeys(days, 0.0)
        for row in dated:
            if str(row["topic"]) == label or (label == "others" and row["topic"] not in named):
                heights[row["day"]] += _mebibytes(row["bytes"])
        places = range(len(days))
        axes.bar(places, [heights[day] for day in days], bottom=[bottom[day] for day in days], label=_short(label))
        bottom = {day: bottom[day] + heights[day] for day in days}
    step = max(1, -(-len(days) // DRAWN_DATES))
    axes.set_xticks(range(0, len(days), step), [str(day) for day in days[::step]])
    axes.set_ylabel("MiB")
    axes.legend()
    return Picture(name="days", figure=figure)
