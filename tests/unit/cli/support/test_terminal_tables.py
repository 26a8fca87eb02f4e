"""A table on a terminal is no wider than that; in a pipe its lines are whole."""

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from stepdown.cli.support.terminal_tables import print_table
from support.deadline import DEADLINE_S

ROWS = [("orders-service", "a long reason " * 20), ("b" * 90, "short")]
SCRIPT = f"from stepdown.cli.support.terminal_tables import print_table; print_table(('client id', 'because'), {ROWS})"


def shown_at(columns: int, folder: Path) -> list[str]:
    """What a terminal of so many columns is sent."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, columns))
    environment = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=theirs, env=environment, cwd=folder) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:  # the other end is closed
            pass
        assert process.wait(DEADLINE_S) == 0
    os.close(ours)
    return b"".join(parts).decode().replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()


@pytest.mark.parametrize("columns", [60, 100])
def test_a_terminal_gets_lines_that_it_has_room_for(columns: int, tmp_path: Path) -> None:
    """Lines of `stepdown clients` had 355 columns, which a terminal cuts anywhere."""
    lines = shown_at(columns, tmp_path)
    assert max(map(len, lines)) <= columns
    assert "".join(lines).count("reason") == 20
    assert sum(line.count("b") for line in lines) >= 90


def test_a_terminal_that_is_wide_gets_a_line_a_row(tmp_path: Path) -> None:
    assert len(shown_at(500, tmp_path)) == 2 + len(ROWS)


def test_a_pipe_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("client id", "because"), ROWS)
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(ROWS)
