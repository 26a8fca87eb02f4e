"""pytest in the clone where only `[testing]` is installed."""

import subprocess
import sys
from pathlib import Path

from support.deadline import JOB_DEADLINE_S

ROOT = Path(__file__).resolve().parents[3]
PYTEST = """
import sys
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
PathFinder.find_spec = classmethod(lambda _, name, *on: None if name == "hypothesis" else find_spec(name, *on))

import pytest

sys.exit(pytest.main(sys.argv[1:]))
"""


def run_without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs pytest by the clone's settings, without hypothesis and pytest-asyncio."""
    command = [sys.executable, "-c", PYTEST, "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider"]
    command += ["-p", "no:hypothesispytest", "-p", "no:asyncio", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=JOB_DEADLINE_S, check=False)


def test_a_test_of_a_user_runs(tmp_path: Path) -> None:
    """It ended with a traceback of pytest, as a filter of warnings named hypothesis."""
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    ended = run_without_extras(str(tmp_path))
    assert "1 passed" in ended.stdout, ended.stdout + ended.stderr


def test_tests_of_stepdown_say_what_they_need() -> None:
    """The traceback did not say what to install."""
    ended = run_without_extras(str(ROOT / "tests" / "unit" / "support" / "test_parts.py"))
    assert ended.returncode == 4
    assert "pip install -e '.[test]'" in ended.stderr and "Traceback" not in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
