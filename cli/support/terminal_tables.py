"""Tables on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from unicodedata import category, combining, east_asian_width

import typer

GAP = "  "


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[str] = ()) -> None:
    """Print rows under their columns; `numeric` columns are aligned at the right."""
    cells = [[*columns], *([_printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    right = [column in numeric for column in columns]
    head, *lines = (_line(row, widths, right) for row in cells)
    typer.echo("\n".join([head, "─" * (sum(widths) + len(GAP) * (len(widths) - 1)), *lines]))


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, is_right in zip(row, widths, right, strict=True):
        blanks = " " * (width - _width(cell))
        padded.append(blanks + cell if is_right else cell + blanks)
    return GAP.join(padded).rstrip()


def _printable(cell: str) -> str:
    """The cell in one line, without what a terminal obeys: names come from clients and brokers."""
    return "".join(each if category(each) not in ("Cc", "Cf", "Zl", "Zp") else repr(each)[1:-1] for each in cell)


def _width(cell: str) -> int:
    """Columns of a terminal."""
    if cell.isascii():
        return len(cell)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in cell)
