"""The census as a page: answers first, then its tables, and what topics hold, become and grow by as bars."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..html_report import ReportSection, write_page
from ..report_picture import Picture
from .report_summary import SummaryScope, summarize_tables

REPORT = "report.html"
MEGABYTE = 1_000_000
DRAWN_LETTERS = 22
DRAWN_DAILY = 6
DRAWN_PERIODS = 100
DRAWN_DATES = 4
"""How many topics have a colour of their own by day, how many bars there are at most, and how many dates are written
below.
"""
DRAWN_TOPICS = 20
"""Topics of a picture: those with the most bytes. The table has all."""

Row = Mapping[str, object]
_TITLES = {
    "formats": "Formats and codecs",
    "topics": "What the old clients cost",
    "partitions": "How even the partitions are",
    "days": "How old it is",
    "kafka_4": "What changes with Kafka 4",
    "damage": "What is damaged or missing",
    "conversion": "What conversion takes",
}
_ABOUT = {
    "formats": "By topic, from the headers of the batches. magic: Kafka's number of the record format, 0 before Kafka "
    "0.10, 1 in 0.10, 2 since 0.11. unopened batches: compressed ones of magic 0 and 1, whose headers do not tell how "
    "many records they have.",
    "topics": "Old clients are those that read no more than --magic. converted share: of the bytes, what a broker "
    "converts for them (1: all); batch fill: mean size of a batch to the producers' batch.size (1: full); "
    "zstd bytes: what they cannot read at all.",
    "partitions": "skew: records of the largest partition to the mean of its topic (1: even), as KIP-480 compares "
    "partitioners.",
    "days": "Stored bytes by day (UTC) of the batches' largest timestamps. none: magic 0, which has no timestamps, and "
    "times before 1970 or after 9999.",
    "kafka_4": "Kafka 4 reads batches of every magic, and clients since 2.1 get them as they are. It refuses requests "
    "of older clients (KIP-896) and converts nothing (KIP-724). refused bytes: what the old clients get of Kafka 3.9 "
    "and would not get of Kafka 4.",
    "damage": "corrupt: bytes that are no batch; missing: offsets that no batch has; overlapping: offsets that two "
    "segments have. end offset is the first one after them. Checksums are not taken here.",
    "conversion": "All batches as fetches of the old clients convert them: stored bytes become converted bytes. "
    "promised bytes: what the answers say they send (KIP-283), filled up by padding bytes; left out batches: did not "
    "fit, and are fetched again; largest chunk bytes: what one conversion holds in memory. compression ratio and what "
    "follows: what KIP-126's estimate would have made of it.",
}
"""By table: what the page calls it, and what its columns mean."""


def write_report(out: str, tables: Mapping[str, Sequence[Row]], counted: SummaryScope) -> None:
    """Write the page and its pictures, each also as PNG, to the folder `out`."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for section in write_report_page(folder / REPORT, tables, counted):
        if section.picture is not None:
            section.picture.save_png(folder)


def write_report_page(file: Path, tables: Mapping[str, Sequence[Row]], counted: SummaryScope) -> list[ReportSection]:
    """Write the page alone, with its pictures in it; return what it has."""
    sections = [
        ReportSection(
            title=_TITLES[name],
            about=_ABOUT[name],
            rows=_sum_days_by_period(name, rows),
            picture=_draw_table(name, rows),
        )
        for name, rows in tables.items()
        if rows
    ]
    write_page(file, "What the segments hold", sections, summarize_tables(tables, counted))
    return sections


def _sum_days_by_period(name: str, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of a table on the page: those of days by day, month or year, of all topics together."""
    if name != "days":
        return rows
    periods: dict[str, dict[str, int]] = {}
    for row in _sum_by_period_and_topic(rows):
        sums = periods.setdefault("none" if row["day"] is None else str(row["day"]), {"topics": 0})
        sums["topics"] += 1
        for column in ("batches", "records", "bytes"):
            sums[column] = sums.get(column, 0) + int(str(row[column] or 0))
    return [{"day": period, **sums} for period, sums in periods.items()]


def _draw_table(name: str, rows: Sequence[Row]) -> Picture | None:
    if name == "formats":
        bars: dict[str, dict[str, float]] = {_magic_and_codec(row): {} for row in rows}
        for row in rows:
            bars[_magic_and_codec(row)][str(row["topic"])] = _megabytes(row["bytes"])
        return _draw_bars_by_topic(name, bars, stacked=True)
    if name == "topics":
        return _draw_who_pays(rows)
    if name == "damage":
        return _draw_damage(rows)
    if name == "days":
        return _draw_bytes_by_period(rows)
    if name == "conversion":
        columns = ("stored_bytes", "promised_bytes", "converted_bytes")
        bars = {column: {str(row["topic"]): _megabytes(row[column]) for row in rows} for column in columns}
        return _draw_bars_by_topic(name, bars, stacked=False)
    return None


def _draw_who_pays(rows: Sequence[Row]) -> Picture:
    """What a fetch of the old clients does with the bytes of each topic."""
    bars: dict[str, dict[str, float]] = {"as they are": {}, "converted": {}, "refused (zstd)": {}}
    for row in rows:
        topic, size, zstd = str(row["topic"]), _megabytes(row["bytes"]), _megabytes(row["zstd_bytes"])
        converted = float(str(row["converted_share"] or 0)) * size
        for label, value in zip(bars, (size - converted - zstd, converted, zstd), strict=True):
            bars[label][topic] = value
    return _draw_bars_by_topic("topics", bars, stacked=True, colours=("#2563eb", "#f59e0b", "#dc2626"))


def _draw_damage(rows: Sequence[Row]) -> Picture:
    """How many damages of each kind a partition has."""
    bars: dict[str, dict[str, float]] = {}
    for row in rows:
        counts = bars.setdefault(str(row["kind"]), {})
        partition = f"{row['topic']}-{row['partition']}"
        counts[partition] = counts.get(partition, 0.0) + 1
    return _draw_bars_by_topic("damage", bars, stacked=True, unit="damages")


def _magic_and_codec(row: Row) -> str:
    return f"magic {row['magic']} {row['codec']}"


def _megabytes(value: object) -> float:
    assert isinstance(value, int)
    return value / MEGABYTE


def _draw_bars_by_topic(
    name: str,
    bars: Mapping[str, Mapping[str, float]],
    *,
    stacked: bool,
    unit: str = "MB",
    colours: Sequence[str] = (),
) -> Picture:
    """Bars by topic, a colour for each key of `bars`, on or beside each other; from 0 on."""
    totals: dict[str, float] = {}
    for values in bars.values():
        for topic, value in values.items():
            totals[topic] = totals.get(topic, 0.0) + value
    topics = sorted(totals, key=lambda topic: -totals[topic])[:DRAWN_TOPICS]
    figure = Figure(figsize=(5.5, 1.4 + 0.35 * len(topics) + 0.12 * len(bars)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 if stacked else 0.8 / len(bars)
    left = [0.0] * len(topics)
    for number, (label, values) in enumerate(bars.items()):
        widths = [values.get(topic, 0.0) for topic in topics]
        shift = 0.0 if stacked else height * (number - (len(bars) - 1) / 2)
        colour = colours[number] if colours else None
        places = [place + shift for place in range(len(topics))]
        axes.barh(places, widths, height, left=left, label=label, color=colour)
        if stacked:
            left = [before + width for before, width in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(topics)), [_shorten(topic) for topic in topics])
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    if unit != "MB":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0, max(left) * 1.03 if stacked and any(left) else None)
    _add_legend(figure)
    return Picture(name=name, figure=figure)


def _add_legend(figure: Figure) -> None:
    """Below the picture, where it hides nothing."""
    figure.legend(loc="outside lower center", ncols=2, frameon=False)


def _shorten(name: str) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= DRAWN_LETTERS else f"{name[: DRAWN_LETTERS // 2]}…{name[-DRAWN_LETTERS // 2 :]}"


def _draw_bytes_by_period(rows: Sequence[Row]) -> Picture | None:
    """Bytes a day, month or year, the topics with the most bytes on each other and all others as one; MB from 0 on."""
    dated = _sum_by_period_and_topic([row for row in rows if row["day"] is not None])
    totals: dict[str, float] = {}
    for row in dated:
        totals[str(row["topic"])] = totals.get(str(row["topic"]), 0.0) + _megabytes(row["bytes"])
    named = sorted(totals, key=lambda topic: -totals[topic])[:DRAWN_DAILY]
    days = sorted({row["day"] for row in dated}, key=str)
    if not days:
        return None
    figure = Figure(figsize=(5.5, 3.6), layout="constrained")
    axes = figure.subplots()
    bottom = dict.fromkeys(days, 0.0)
    for label in [*named, *(["others"] if len(totals) > len(named) else [])]:
        heights = dict.fromkeys(days, 0.0)
        for row in dated:
            if str(row["topic"]) == label or (label == "others" and row["topic"] not in named):
                heights[row["day"]] += _megabytes(row["bytes"])
        places = range(len(days))
        axes.bar(places, [heights[day] for day in days], bottom=[bottom[day] for day in days], label=_shorten(label))
        bottom = {day: bottom[day] + heights[day] for day in days}
    step = max(1, -(-len(days) // DRAWN_DATES))
    axes.set_xticks(range(0, len(days), step), [str(day) for day in days[::step]])
    axes.set_ylabel("MB")
    _add_legend(figure)
    return Picture(name="days", figure=figure)


def _sum_by_period_and_topic(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows of each topic with days, or where those are too many months, or years, in the place of `day`."""
    for letters in (len("2026-03-01"), len("2026-03"), len("2026")):
        found: dict[tuple[object, object], dict[str, object]] = {}
        for row in rows:
            day = None if row["day"] is None else str(row["day"])[:letters]
            sums = found.setdefault((day, row["topic"]), {"day": day, "topic": row["topic"]})
            for column in ("batches", "records", "bytes"):
                sums[column] = int(str(sums.get(column, 0))) + int(str(row[column] or 0))
        if len({day for day, _ in found if day is not None}) <= DRAWN_PERIODS:
            break
    return list(found.values())
