"""The counts in docs/testing.md are those of the tests, and what pages show in fences is run by a test."""

import re
from pathlib import Path

import pytest
from stepdown import testing
from stepdown.broker.handlers import SERVED
from stepdown.testing.scenarios.steps import EXPECTATIONS, STEPS
from support.clients_java import JAVA_0_10_2, JAVA_3_9, OTHER_GENERATIONS
from support.clients_python import PYTHON_CLIENTS
from support.messages import messages

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "testing.md").read_text()
ROWS = {
    "APIs answered": len(SERVED),
    "versions of requests and responses": sum(1 for _ in messages()),
    "client setups in the matrix": len({*OTHER_GENERATIONS, JAVA_0_10_2, JAVA_3_9, *PYTHON_CLIENTS}),
}
SHOWN = re.compile(r"^```(python|sh)$", re.MULTILINE)
"""Fences that a reader may run as they stand; others are `text`, or `python fragment`."""


@pytest.mark.parametrize("row", ROWS)
def test_the_counts_are_true(row: str) -> None:
    (shown,) = re.findall(rf"^\| {row}[^|]*\| ([\d,]+) \|", PAGE, re.MULTILINE)
    assert int(shown.replace(",", "")) == ROWS[row]


def test_every_path_on_the_page_exists() -> None:
    named = re.findall(r"`(tests/[a-z0-9_/]+\.py)`", PAGE)
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_every_exception_of_testing_is_in_the_table() -> None:
    """Which ones there are stood in a sentence, without what to do."""
    page = (ROOT / "docs" / "testing-with-stepdown.md").read_text()
    offered = [getattr(testing, name) for name in testing.__all__]
    exceptions = [each.__name__ for each in offered if isinstance(each, type) and issubclass(each, Exception)]
    assert len(exceptions) == 4
    assert [name for name in exceptions if not re.search(rf"^\| `{name}`.* \| .+ \| .+ \|$", page, re.M)] == []


def test_every_step_of_a_scenario_is_on_the_page() -> None:
    """The page sent its reader to the source code."""
    page = (ROOT / "docs" / "testing-with-stepdown.md").read_text()
    rows = " ".join(re.findall(r"^\| (`.*?) \|", page[page.index("## Scenarios") :], re.M))
    assert {*STEPS, *EXPECTATIONS} - {*re.findall(r"`(\w+)`", rows)} == set()


def test_what_a_page_shows_to_be_run_is_run_by_a_test() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__))
    assert [
        str(page.relative_to(ROOT)) for page in pages if SHOWN.search(page.read_text()) and page.name not in tests
    ] == []
