"""A report as one HTML file that contains its tables and pictures."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .report_picture import Picture

STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1f2937}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}
th,td{padding:.2rem .7rem;border-bottom:1px solid #e5e7eb;text-align:right}
th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto}.about{color:#6b7280}"""
_WHOLE_ABOVE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table under its title, with a sentence on how it was made and a picture if there is one."""

    title: str
    about: str
    rows: Sequence[Mapping[str, object]]
    picture: Picture | None = None


def write_page(path: Path, title: str, sections: Sequence[Section]) -> None:
    """Write the report of these sections; those without rows are left out."""
    title = html.escape(title)
    body = "".join(_section(section) for section in sections if section.rows)
    path.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{STYLE}</style><h1>{title}</h1>{body}</html>\n"
    )


def _section(section: Section) -> str:
    picture = section.picture.svg() if section.picture is not None else ""
    return (
        f"<h2>{html.escape(section.title)}</h2><p class=about>{html.escape(section.about)}</p>"
        f"{picture}{_table(section.rows)}"
    )


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}" for name in rows[0])
    lines = ("<tr>" + "".join(f"<td>{html.escape(_cell(value))}" for value in row.values()) for row in rows)
    return f"<table><tr>{head}{''.join(lines)}</table>"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= _WHOLE_ABOVE else f"{value:.3g}"
    return str(value)
