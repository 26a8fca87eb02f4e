"""docs/compatibility.md says what is so."""

import re
from pathlib import Path

from support.broker import Stepdown
from support.clients_raw import Raw

REPOSITORY_ROOT = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY_ROOT / "docs" / "compatibility.md").read_text()
ROW = re.compile(r"^\| (\d+) \| \w+ \| (\d+)(?:–(\d+))? \|", re.MULTILINE)


def test_the_page_lists_the_versions_that_are_advertised(tmp_path: Path) -> None:
    table = PAGE.partition("<!-- apis: begin -->")[2].partition("<!-- apis: end -->")[0]
    listed = {int(key): (int(low), int(high or low)) for key, low, high in ROW.findall(table)}

    with Stepdown(tmp_path) as broker, Raw(broker.address) as client:
        assert listed == client.api_versions()


def test_each_difference_on_the_page_names_a_test_that_exists() -> None:
    differences = PAGE.partition("what differs")[2].partition("\n## ")[0]
    sections = differences.split("\n### ")[1:]
    tests = (REPOSITORY_ROOT / "tests" / "differential" / "test_fetch_differences.py").read_text()

    for section in sections:
        named = re.findall(r"`(test_\w+)`", section)
        assert named, f"no test is named under {section.splitlines()[0]!r}"
        assert all(f"def {name}(" in tests for name in named)
