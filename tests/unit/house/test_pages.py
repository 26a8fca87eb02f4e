"""What pages name is there: files by their paths, and links; and the rooms are on their page."""

import re
from pathlib import Path

import pytest
from support.docs_site import LINK, PAGES, ROOT, build
from support.house_words import ROOMS

OF_OTHERS = {"test_sasl.py", "run.py"}
"""Files of other projects, and a user's."""


def files() -> list[Path]:
    """The sources of product and tests, as paths in the tree."""
    places = (*ROOMS, "include", "tests", "distributions")
    return [path.relative_to(ROOT) for place in places for path in (ROOT / place).rglob("*.p[yx]*")]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    """By their path, or the end of it."""
    named = set(re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|pxd))\b", page.read_text())) - OF_OTHERS
    ends = {"/".join(path.parts[start:]) for path in [*files(), Path("setup.py")] for start in range(len(path.parts))}
    assert named - ends == set()


def test_the_table_of_rooms_names_every_folder_of_the_product() -> None:
    """Those of `cli/` apart: each is named as its command."""
    table = (ROOT / "docs" / "architecture.md").read_text().split("## Rooms")[1].split("\n\n")[1]
    named = set()
    for row in re.findall(r"^\| (.*?) \|", table, re.MULTILINE):
        first, *others = re.findall(r"`([\w/]+)/`", row) or [""]
        named |= {first, *others, *(f"{Path(first).parent}/{other}" for other in others)}
    folders = {str(path.parent) for path in files() if path.name == "__init__.py" and path.parts[0] in ROOMS}
    assert "broker/handlers" in folders
    assert {folder for folder in folders if not folder.startswith("cli/")} - named == set()


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


def test_the_site_names_every_page() -> None:
    named = re.findall(r"^ +- (?:\w+: )?(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    assert sorted(named) == sorted(page.relative_to(ROOT).as_posix() for page in PAGES)


@pytest.mark.lengthy
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="pip install '.[docs]'")
    ended = build(tmp_path)
    assert (ended.returncode, ended.stderr.count("WARNING")) == (0, 0), ended.stderr
    assert "stepdown" in (tmp_path / "site" / "index.html").read_text()
