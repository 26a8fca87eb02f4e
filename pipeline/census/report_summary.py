"""What the first screen of the census says: an answer to each question that people come with, out of its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..html_report import ReportAnswer

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
NAMED = 3
"""How many topics an answer names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryScope:
    """What was counted, and for which clients: those that read `magic` at most. Sizes in bytes."""

    place: str
    segments: int
    bytes: int
    magic: int


def summarize_tables(tables: Tables, counted: SummaryScope) -> list[ReportAnswer]:
    """The answers, in the order in which they are shown."""
    return [
        _answer_what_is_here(tables, counted),
        _answer_what_damage_there_is(tables),
        _answer_who_pays(tables, counted),
        _answer_what_cannot_be_read(tables, counted),
        _answer_what_kafka_4_refuses(tables, counted),
        _answer_fill_and_skew(tables),
        _answer_how_it_grows(tables),
    ]


def _answer_what_is_here(tables: Tables, counted: SummaryScope) -> ReportAnswer:
    formats, partitions = tables["formats"], tables["partitions"]
    records = sum(row["records"] or 0 for row in formats)
    unopened = sum(row["unopened_batches"] for row in formats)
    kinds = sorted({f"magic {row['magic']}" for row in formats})
    more = f" and those of {unopened:,} compressed batches of magic 0 and 1, not opened" if unopened else ""
    batches = sum(row["batches"] for row in formats)
    topics, parts = len(partitions), sum(row["partitions"] for row in partitions)
    return ReportAnswer(
        question="What is here?",
        figure=size_text(counted.bytes),
        about=f"{counted.place}: {_plural(topics, 'topic')}, {_plural(parts, 'partition')},"
        f" {_plural(counted.segments, 'segment')}, {batches:,} batches; {records:,} records{more}. {', '.join(kinds)}.",
    )


def _answer_what_damage_there_is(tables: Tables) -> ReportAnswer:
    question = "What is damaged or missing?"
    found = tables.get("damage", ())
    if not found:
        about = "No batch header is wrong, and no offset is missing. Checksums were not taken."
        return ReportAnswer(question=question, figure="Nothing", about=about)
    kinds: dict[str, int] = {}
    for row in found:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    topics = sorted({f"{row['topic']}-{row['partition']}" for row in found})
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    about = f"{counted}; in {_names_text(topics)}. See the table below."
    return ReportAnswer(question=question, figure=_plural(len(found), "damage"), about=about)


def _answer_who_pays(tables: Tables, counted: SummaryScope) -> ReportAnswer:
    question = f"Who pays for down-conversion (clients that read magic {counted.magic})?"
    topics = {row["topic"]: (row["converted_share"] or 0) * row["bytes"] for row in tables["topics"]}
    down = sum(topics.values())
    if not down:
        refused = any(row["zstd_bytes"] for row in tables["topics"])
        other = ", or are zstd, which is refused and not converted" if refused else ""
        about = f"All batches are of a magic that these clients read{other}."
        return ReportAnswer(question=question, figure="Nobody", about=about)
    about = f"Bytes that a broker converts when they are read once; most in {_topics_text(topics)}. "
    exact = tables.get("conversion")
    if exact is None:
        about += "With --exact the census converts them, and says what memory and CPU that takes."
    else:
        cpu_s = sum(row["conversion_cpu_s"] for row in exact)
        chunk = max(row["largest_chunk_bytes"] for row in exact)
        about += (
            f"One read of all takes {cpu_s:,.1f} s of CPU in stepdown's kernel, on the census's machine; a broker that"
            f" converts in chunks of 128 KiB holds up to {size_text(chunk)} a fetch."
        )
    return ReportAnswer(question=question, figure=size_text(down), about=about)


def _answer_what_cannot_be_read(tables: Tables, counted: SummaryScope) -> ReportAnswer:
    zstd = {row["topic"]: row["zstd_bytes"] for row in tables["topics"] if row["zstd_bytes"]}
    question = "What can old clients not read?"
    if not zstd:
        return ReportAnswer(question=question, figure="Nothing", about="There are no zstd batches.")
    about = f"zstd batches, which clients of magic {counted.magic} get an error for; in {_topics_text(zstd)}."
    return ReportAnswer(question=question, figure=size_text(sum(zstd.values())), about=about)


def _answer_what_kafka_4_refuses(tables: Tables, counted: SummaryScope) -> ReportAnswer:
    question = "What would Kafka 4 refuse?"
    rows = tables["kafka_4"]
    refused = {row["topic"]: row["refused_bytes"] for row in rows if row["refused_bytes"]}
    old = {row["topic"]: row["magic_0_bytes"] + row["magic_1_bytes"] for row in rows}
    if not refused:
        about = "Nothing is here that clients of old formats could read of Kafka 3.9."
        return ReportAnswer(question=question, figure="Nothing", about=about)
    about = (
        f"What clients that read magic {counted.magic} have of Kafka 3.9: Kafka 4 answers no fetch of theirs (KIP-896)"
        " and converts nothing (KIP-724). "
    )
    if any(old.values()):
        about += f"It goes on serving magic 0 and 1 as they are, in {_topics_text(old)}."
    else:
        about += "All batches are of magic 2, which it serves as they are."
    without_times = sorted(row["topic"] for row in rows if row["magic_0_bytes"])
    if without_times:
        about += f" It finds no offset by time in partitions that begin with magic 0: {_names_text(without_times)}."
    return ReportAnswer(question=question, figure=size_text(sum(refused.values())), about=about)


def _answer_fill_and_skew(tables: Tables) -> ReportAnswer:
    question = "How full are batches, how even are partitions?"
    fills = {row["topic"]: row["batch_fill"] for row in tables["topics"] if row["batch_fill"] is not None}
    skews = {row["topic"]: row["skew"] for row in tables["partitions"] if row["skew"] is not None}
    if not fills:
        return ReportAnswer(question=question, figure="-", about="There are no batches.")
    least = min(fills, key=lambda topic: fills[topic])
    about = f"The least full batches are those of {least}, {fills[least]:.0%} of batch.size. "
    if skews:
        most = max(skews, key=lambda topic: skews[topic])
        about += f"The largest partition of {most} has {skews[most]:.2f} times the mean, the most of all topics."
    return ReportAnswer(question=question, figure=f"{fills[least]:.0%} at least", about=about)


def _answer_how_it_grows(tables: Tables) -> ReportAnswer:
    question = "How does it grow?"
    days: dict[Any, int] = {}
    for row in tables["days"]:
        if row["day"] is not None:
            days[row["day"]] = days.get(row["day"], 0) + row["bytes"]
    if not days:
        return ReportAnswer(question=question, figure="-", about="No batch has a timestamp.")
    first, last = min(days), max(days)
    span = (last - first).days + 1
    return ReportAnswer(
        question=question,
        figure=f"{size_text(sum(days.values()) / span)} a day",
        about=f"Over {_plural(span, 'day')}, {first} to {last} (UTC, by the batches' largest timestamps);"
        f" the last day has {size_text(days[last])}.",
    )


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _topics_text(topics: Mapping[str, float]) -> str:
    """The topics with the most bytes, with those."""
    most = sorted((topic for topic in topics if topics[topic]), key=lambda topic: -topics[topic])
    return _names_text([f"{topic} ({size_text(topics[topic])})" for topic in most])


def _names_text(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def size_text(size: float) -> str:
    """Bytes as a person reads them."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
