"""What a docstring or comment names is there."""

import re
from pathlib import Path

from support.house_words import ROOMS

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [
    path
    for room in (*ROOMS, "include")
    for pattern in ("*.py", "*.pxd", "*.pyi")
    for path in (ROOT / room).rglob(pattern)
]
TESTS = list((ROOT / "tests").rglob("*.py"))
FILES = {path.relative_to(ROOT).as_posix() for path in (*SOURCES, *TESTS)}
MENTION = re.compile(r"(?<![\w.*/-])[\w/-]+\.(?:py|pxd)\b")
SPECIFICATION = re.compile(r"[(]spec: [a-z-]+")


def test_files_that_modules_mention_exist() -> None:
    missing = {
        f"{path.relative_to(ROOT)}: {named}"
        for path in SOURCES
        for named in MENTION.findall(path.read_text())
        if not any(file.endswith("/" + named) or file == named for file in FILES)
    }
    assert missing == set()


def test_no_specification_is_named_that_is_not_in_the_repository() -> None:
    """Seven docstrings named sections of a specification that nobody could read."""
    named = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in (*SOURCES, *TESTS)
        for text in SPECIFICATION.findall(path.read_text())
    }
    assert named == set()
