"""Tables on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from shutil import get_terminal_size
from typing import Any
from unicodedata import combining, east_asian_width

import typer

from .escape_sequences import escape_control_characters

GAP = "  "


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[str] = (), most_columns: int | None = None
) -> None:
    """Prints rows under their columns; `numeric` columns are aligned at the right. If the table is wider than the
    terminal, or without a terminal than `most_columns`, long cells are folded."""
    cells = [[*columns], *([escape_control_characters(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(_terminal_width, column)) for column in zip(*cells, strict=True)]
    right = [column in numeric for column in columns]
    width = sum(widths) + len(GAP) * (len(widths) - 1)
    limit = get_terminal_size().columns if sys.stdout.isatty() else most_columns
    if limit is not None and width > limit:
        _print_narrow(cells, right, limit)
        return
    head, *lines = (_pad_row(row, widths, right) for row in cells)
    typer.echo("\n".join([head, "─" * width, *lines]))


def format_time(milliseconds: int) -> str:
    """Milliseconds since 1970 as 2027-06-30 12:00:00Z; "" for a negative number."""
    if milliseconds < 0:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(" ", "seconds").removesuffix("+00:00") + "Z"


def _print_narrow(cells: Sequence[Sequence[str]], right: Sequence[bool], width: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, is_right in zip(cells[0], right, strict=True):
        table.add_column(Text(name), justify="right" if is_right else "left", overflow="fold")
    for row in cells[1:]:
        table.add_row(*map(Text, row))
    Console(highlight=False, width=width).print(table)


def _pad_row(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, is_right in zip(row, widths, right, strict=True):
        blanks = " " * (width - _terminal_width(cell))
        padded.append(blanks + cell if is_right else cell + blanks)
    return GAP.join(padded).rstrip()


def _terminal_width(cell: str) -> int:
    """Returns the width in columns of a terminal."""
    if cell.isascii():
        return len(cell)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in cell)
