"""Numbers of things are said as people say them."""

import re
from pathlib import Path

import pytest
from stepdown.protocol.plural import describe_duration, plural

ROOT = Path(__file__).parents[3]
ROOMS = ("broker", "cli", "client", "config", "gateway", "network", "producer", "protocol", "storage", "testing")
BY_HAND = re.compile(r"(?:\{[^{}]+\}|%d) (?:members|segments|hits|racks|groups|logs|topics)\b")
"""Things of which there may be one, and no helper."""


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(0, "member", "0 members"), (1, "member", "1 member"), (2, "batch", "2 batches"), (1, "batch", "1 batch")],
)
def test_one_is_not_said_as_many(count: int, noun: str, said: str) -> None:
    assert plural(count, noun) == said


def test_no_line_counts_by_hand() -> None:
    """Lines said "1 members", "1 segments"."""
    files = (file for room in ROOMS for file in (ROOT / room).rglob("*.py"))
    found = [f"{file.relative_to(ROOT)}: {text}" for file in files for text in BY_HAND.findall(file.read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (46, "46 ms"),
        (46_000, "46 s"),
        (1500, "1 s 500 ms"),
        (3_900_000, "1 h 5 min"),
        (691_200_000, "8 d"),
        (90_061_001, "1 d 1 h 1 min 1 s 1 ms"),
    ],
)
def test_a_time_is_as_people_say_it(ms: int, text: str) -> None:
    """A move of eight days was one of 691200000 ms."""
    assert describe_duration(ms) == text
