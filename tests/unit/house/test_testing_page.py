"""The counts in docs/testing.md are those of the tests, and what pages show in fences is run by a test."""

import re
from pathlib import Path

import pytest
from stepdown.broker.handlers import SERVED
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
RUN_BY = {
    "README.md": "tests/interop/test_readme.py",
}
"""Pages whose fenced `sh` and `python` are run, and the test that does it; other fences are marked otherwise."""


@pytest.mark.parametrize("row", ROWS)
def test_the_counts_are_true(row: str) -> None:
    (shown,) = re.findall(rf"^\| {row}[^|]*\| ([\d,]+) \|", PAGE, re.MULTILINE)
    assert int(shown.replace(",", "")) == ROWS[row]


def test_every_path_on_the_page_exists() -> None:
    named = re.findall(r"`(tests/[a-z0-9_/]+\.py)`", PAGE)
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("page", RUN_BY)
def test_programs_on_a_page_are_run_by_its_test(page: str) -> None:
    assert Path(page).name in (ROOT / RUN_BY[page]).read_text()


def test_programs_stand_on_no_other_page() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    showing = {str(page.relative_to(ROOT)) for page in pages if re.search(r"^```(python|sh)$", page.read_text(), re.M)}
    assert showing == set(RUN_BY)
