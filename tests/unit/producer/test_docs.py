"""docs/producer.md has each setting as the producer has it."""

import re
from pathlib import Path

from stepdown import producer as package
from stepdown.config.keys.value_types import render
from stepdown.producer.settings import KEYS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "producer.md"
ROW = re.compile(r"\| `([a-z0-9.]+)` \| (\S*) ?\| (.*) \|")


def test_the_table_of_settings_is_the_producers() -> None:
    rows = {match[1]: (match[2], match[3]) for match in map(ROW.fullmatch, PAGE.read_text().splitlines()) if match}
    expected = {}
    for name, key in KEYS.items():
        shown = render(key.default)
        default = "" if shown is None or key.default == () else f"`{shown}`" if shown else '`""`'
        expected[name] = (default, key.doc)
    assert rows == expected


def test_every_test_on_the_page_of_rules_exists() -> None:
    tests = Path(__file__).resolve().parents[2]
    named = re.findall(
        r"`((?:unit|interop)/[a-z0-9_/]+\.py)(?:::(test_\w+))?`", (PAGE.parent / "producer-rules.md").read_text()
    )
    texts = {path: (tests / path).read_text() for path, _ in named}
    assert len(named) > 80
    assert [name for path, name in named if name and f"def {name}(" not in texts[path]] == []


def test_every_exception_is_on_the_page() -> None:

    errors = [name for name in package.__all__ if isinstance(getattr(package, name), type)]
    page = PAGE.read_text()
    assert [name for name in errors if issubclass(getattr(package, name), Exception) and name not in page] == []
