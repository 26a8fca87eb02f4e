"""A report as one HTML file that contains its tables and pictures."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .report_picture import Picture

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:76rem;margin:1rem auto;padding:0 1rem;color:#1f2937}
.answers{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr));gap:.8rem;margin:1rem 0}
.answers section{border:1px solid #d1d5db;border-radius:.5rem;padding:.7rem 1rem;overflow-wrap:anywhere}
.answers h2{font-size:1rem;margin:0}.answers b{font-size:1.6rem}.answers p{margin:0}h1{font-size:1.5rem}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}
th,td{padding:.2rem .7rem;border-bottom:1px solid #e5e7eb;text-align:right}
th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto}.about{color:#6b7280}
.side{display:flex;flex-wrap:wrap;gap:0 2rem;align-items:flex-start}
.side table{flex:1 1 26rem;min-width:0;font-size:.875rem}"""
MAX_ROWS = 300
"""The most rows of a table; nobody looks at a page of thousands."""
BESIDE_COLUMNS = 8
"""The most columns of a table beside its picture; below it there is more room."""
_WHOLE_ABOVE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportAnswer:
    """A question, the figure that answers it, and a sentence or two on it."""

    question: str
    figure: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSection:
    """A table under its title, with a sentence on how it was made and a picture if there is one."""

    title: str
    about: str
    rows: Sequence[Mapping[str, object]]
    picture: Picture | None = None


def write_page(path: Path, title: str, sections: Sequence[ReportSection], answers: Sequence[ReportAnswer] = ()) -> None:
    """Write the report: answers on its first screen, then sections; those without rows are left out."""
    title = html.escape(title)
    body = "".join(_section_html(section) for section in sections if section.rows)
    path.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{title}</title>"
        f"<style>{STYLE}</style><h1>{title}</h1>{_answers_html(answers)}{body}</html>\n"
    )


def _answers_html(answers: Sequence[ReportAnswer]) -> str:
    if not answers:
        return ""
    cards = (
        f"<section><h2>{html.escape(each.question)}</h2><b>{html.escape(each.figure)}</b>"
        f"<p>{html.escape(each.about)}</p></section>"
        for each in answers
    )
    return f"<div class=answers>{''.join(cards)}</div>"


def _section_html(section: ReportSection) -> str:
    picture = section.picture.svg() if section.picture is not None else ""
    place = "side" if len(section.rows[0]) <= BESIDE_COLUMNS else "below"
    hidden = _describe_rows_left_out(len(section.rows) - MAX_ROWS)
    return (
        f"<h2>{html.escape(section.title)}</h2><p class=about>{html.escape(section.about)}</p>"
        f"<div class={place}>{picture}{_table_html(section.rows[:MAX_ROWS])}</div>{hidden}"
    )


def _describe_rows_left_out(rows: int) -> str:
    return f"<p class=about>{rows:,} more rows are not shown.</p>" if rows > 0 else ""


def _table_html(rows: Sequence[Mapping[str, object]]) -> str:
    head = "".join(f"<th>{html.escape(_column_words(name))}" for name in rows[0])
    lines = ("<tr>" + "".join(f"<td>{html.escape(_cell_text(value))}" for value in row.values()) for row in rows)
    return f"<table><tr>{head}{''.join(lines)}</table>"


def _column_words(name: str) -> str:
    """`first_offset` and `firstOffset` as words."""
    return re.sub("(?<=[a-z])[A-Z]", lambda found: f" {found[0].lower()}", name.replace("_", " "))


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= _WHOLE_ABOVE else f"{value:.3g}"
    return str(value)
