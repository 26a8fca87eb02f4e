"""Values of records that look like what people send: JSON, text, lines of a log; and letters, random bytes, one letter.

A value is cut from a run of such lines, so it has the size that is asked for. Always the same ones for the same
arguments.
"""

import json
import random
from collections.abc import Callable, Iterator
from enum import StrEnum

LETTERS = b"abcdefghij"
COMMON_WORDS = """
about after again air all along also always and another any are around as ask at away back be because been before
began between big book both but by call came can car carry change children city close come could country cut day did
different do does door down each earth eat end enough even ever every example eye face family far father feel few
find first follow food for found from get give go good great group grow had hand hard has have head hear help her
here high him his home house how idea important in into is it just keep kind know land large last later leave left
letter life light like line list little live long look made make man many may mean might mile more most mother
mountain move much must name near need never new next night no not now number of off often old on once one only open
or other our out over own page paper part people place plant play point put question quick read really right river
run said same saw say school sea second see seem sentence set she should show side small so some something song soon
sound spell start state still stop story study such take talk tell than that the their them then there these they
thing think this those thought three through time to together too took tree try turn two under until up us use very
walk want was watch water way we well went were what when where which while white who why will with without word
work world would write year you young your
"""
WORDS = COMMON_WORDS.split()
EVENTS = ("click", "login", "purchase", "search", "view")
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR")


class ValueKind(StrEnum):
    """What values are made of."""

    JSON = "json"
    TEXT = "text"
    LOGS = "logs"
    LETTERS = "letters"
    RANDOM = "random"
    UNIFORM = "uniform"


def make_values(kind: ValueKind, size: int) -> Iterator[bytes]:
    """Yields values of `size` bytes without end."""
    line, chance = LINES[kind], random.Random(283)
    number = 0
    while True:
        run = bytearray()
        while len(run) < size:
            run += line(chance, number)
            number += 1
        yield bytes(run[:size])


def _json(chance: random.Random, number: int) -> bytes:
    event = {
        "id": f"{chance.getrandbits(64):016x}",
        "time": 1_790_000_000_000 + 37 * number,
        "event": chance.choice(EVENTS),
        "user": {"id": chance.randrange(100_000), "country": chance.choice(("DE", "FR", "IN", "US"))},
        "page": f"/{chance.choice(WORDS)}/{chance.choice(WORDS)}/{chance.randrange(10_000)}",
        "price": round(chance.random() * 200, 2),
        "tags": chance.sample(WORDS, 3),
        "is_new": chance.random() < 0.2,
    }
    return json.dumps(event).encode()


def _text(chance: random.Random, number: int) -> bytes:
    # Words are used unequally, roughly as in a language (Zipf): their weights fall as 1 / (rank + 3).
    words = chance.choices(WORDS, weights=[1 / (rank + 3) for rank in range(len(WORDS))], k=12)
    return " ".join(words).capitalize().encode() + b". "


def _log_line(chance: random.Random, number: int) -> bytes:
    return (
        f"2026-11-24 10:{number // 600 % 60:02}:{number // 10 % 60:02},{chance.randrange(1000):03} "
        f"{chance.choice(LEVELS)} [worker-{chance.randrange(16)}] shop.{chance.choice(WORDS)}.Service: "
        f"GET /api/v1/{chance.choice(WORDS)}/{chance.randrange(100_000)} from 10.0.{chance.randrange(256)}."
        f"{chance.randrange(256)} took {chance.randrange(900)} ms\n"
    ).encode()


LINES: dict[ValueKind, Callable[[random.Random, int], bytes]] = {
    ValueKind.JSON: _json,
    ValueKind.TEXT: _text,
    ValueKind.LOGS: _log_line,
    ValueKind.LETTERS: lambda chance, number: bytes(chance.choices(LETTERS, k=64)),
    ValueKind.RANDOM: lambda chance, number: chance.randbytes(64),
    ValueKind.UNIFORM: lambda chance, number: LETTERS[:1] * 64,
}
