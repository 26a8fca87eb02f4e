"""What a job says: its results as a table or as JSON lines on stdout, its progress on stderr."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

PLAIN_WIDTH = 240
"""Characters of a line where stdout is no terminal, so that what is piped is not wrapped to 80."""


def print_rows(title: str, rows: Iterable[Mapping[str, object]], *, as_json: bool) -> None:
    """Print rows that have the same keys under those keys, numbers at the right; or one JSON object a row."""
    rows = list(rows)
    if as_json:
        for row in rows:
            print(json.dumps({"table": title, **row}, default=str))
        return
    _print_table(title, rows)


def _print_table(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_WIDTH)
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, pad_edge=False
    )
    for column in rows[0] if rows else ():
        numeric = any(isinstance(row[column], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    console.print(table)
    console.print()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def print_to_stderr(line: str) -> None:
    """Tells the person at the terminal what happens now; results go to stdout."""
    print(line, file=sys.stderr, flush=True)


@lru_cache(maxsize=1024)
def print_to_stderr_once(line: str) -> None:
    """Prints a line that would come again each time that something is read, once."""
    print_to_stderr(line)
