"""What pages name is there: files by their paths, and links."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def test_every_file_on_the_page_of_the_house_exists() -> None:
    named = set(re.findall(r"`([a-z0-9_/]+\.py)", (ROOT / "docs" / "architecture.md").read_text()))
    assert "broker/dispatch/dispatcher.py" in named
    assert {path for path in named if not (ROOT / path).is_file()} == set()


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    files = [link for link in links if not link.startswith(("http", "mailto:"))]
    assert [link for link in files if not (page.parent / link).exists()] == []
