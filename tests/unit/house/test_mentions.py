"""What a docstring or comment names by its file is there."""

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
FILES = {path.relative_to(ROOT).as_posix() for path in (*SOURCES, *(ROOT / "tests").rglob("*.py"))}
MENTION = re.compile(r"(?<![\w.*/-])[\w/-]+\.(?:py|pxd)\b")


def test_files_that_modules_mention_exist() -> None:
    missing = {
        f"{path.relative_to(ROOT)}: {named}"
        for path in SOURCES
        for named in MENTION.findall(path.read_text())
        if not any(file.endswith("/" + named) or file == named for file in FILES)
    }
    assert missing == set()
