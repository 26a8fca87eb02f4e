"""docs/architecture.md names files by their paths, and they exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_every_file_on_the_page_of_the_house_exists() -> None:
    named = set(re.findall(r"`([a-z0-9_/]+\.py)", (ROOT / "docs" / "architecture.md").read_text()))
    assert "broker/network/dispatch.py" in named
    assert {path for path in named if not (ROOT / path).is_file()} == set()
