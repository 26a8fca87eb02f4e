"""What pages name is there: files by their paths, and links."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_every_file_on_the_page_of_the_house_exists() -> None:
    named = set(re.findall(r"`([a-z0-9_/]+\.py)", (ROOT / "docs" / "architecture.md").read_text()))
    assert "broker/dispatch/dispatcher.py" in named
    assert {path for path in named if not (ROOT / path).is_file()} == set()


PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)]*))?\)")


def anchors(page: Path) -> set[str]:
    """Return what GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text()) if not link[0].startswith(("http", "mailto:"))]
    targets = [(page.parent / file if file else page, anchor) for file, anchor in links]
    missing = [target for target, _ in targets if not target.exists()]
    dead = [(target, anchor) for target, anchor in targets if anchor and anchor not in anchors(target)]
    assert (missing, dead) == ([], [])


def test_every_page_is_linked_from_another() -> None:
    linked = {(page.parent / file).resolve() for page in PAGES for file, _ in LINK.findall(page.read_text()) if file}
    folders = {path for path in linked if path.is_dir()}
    pages = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
    assert [page.name for page in pages if page not in linked and page.parent not in folders] == []
