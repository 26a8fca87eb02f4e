"""The parts of `make test`: all of them run, the summary comes last, the status is the worst."""

import subprocess
import sys
from pathlib import Path

PARTS = Path(__file__).parents[2] / "parts.py"


def run(*arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, PARTS, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_a_part_that_fails_hides_no_other() -> None:
    """The first failure ended all, so the other versions of Python were never tried."""
    status, lines = run(
        "style", "exit 3", "--", "tests", "echo 5 passed in 1.00s", "--", "Python 9", "echo ran; exit 1"
    )
    assert status == 3
    assert "ran" in lines
    assert "style: FAILED, status 3, 0 s" in lines
    assert lines[-1].startswith("5 passed in ")


def test_the_summary_names_what_was_skipped_and_adds_up() -> None:
    closing = "echo 'SKIPPED [2] tests/a.py:1: no chromium'; echo '6 passed, 2 skipped, 1 warning in 1.50s (0:00:01)'"
    status, lines = run("one", closing, "--", "two", "echo '=== 1 failed, 3 passed in 0.10s ==='; exit 1")
    assert status == 1
    summary = lines[lines.index("== summary") :]
    assert summary[2] == "  SKIPPED [2] tests/a.py:1: no chromium"
    assert summary[-1].startswith("1 failed, 9 passed, 2 skipped, 1 warning in ")


def test_a_part_that_is_killed_is_a_failure() -> None:
    assert run("killed", "kill -9 $$")[0] != 0
