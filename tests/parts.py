"""Runs the parts of `make test`, all of them whatever fails, and ends with a summary and the worst status.

    python tests/parts.py NAME COMMAND [-- NAME COMMAND] …

Each command goes through `sh`. The summary has a line for each part, the tests that were skipped with their reasons,
and last what pytest's own closing lines add up to.
"""

import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby

CLOSING = re.compile(r"^(?:=+ )?((?:\d+ [a-z]+, )*\d+ [a-z]+) in [\d.]+s")
COUNT = re.compile(r"(\d+) ([a-z]+)")
KINDS = ("failed", "error", "errors", "passed", "skipped", "xfailed", "xpassed", "warning", "warnings")
SHORT = re.compile(r"^(?:FAILED|ERROR|SKIPPED) ")


@dataclass(slots=True, kw_only=True)
class Part:
    """A part that has run. `lines`: those of pytest's short summary that name tests which did not pass."""

    name: str
    status: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)


def run(name: str, command: str) -> Part:
    """Run the command; what it says is shown as it comes."""
    print(f"== {name}", flush=True)
    part, began = Part(name=name), time.monotonic()
    with subprocess.Popen(
        ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            note(part, line.rstrip())
    part.status, part.seconds = process.returncode, time.monotonic() - began
    return part


def note(part: Part, line: str) -> None:
    """Keep what the summary needs of a line."""
    if SHORT.match(line):
        part.lines.append(line)
    closing = CLOSING.match(line)
    counts = COUNT.findall(closing[1]) if closing else []
    if counts and all(kind in (*KINDS, "deselected") for _, kind in counts):
        part.counts = Counter({kind.removesuffix("s"): int(count) for count, kind in counts})


def told(counts: Counter[str]) -> str:
    """The counts as pytest says them."""
    kinds = dict.fromkeys(kind.removesuffix("s") for kind in KINDS)
    return ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts[kind])


def summarize(parts: list[Part]) -> int:
    """Print what came of the parts; return the worst status."""
    print("\n== summary")
    for part in parts:
        end = "ok" if part.status == 0 else f"FAILED, status {part.status}"
        print(f"{part.name}: {end}, {part.seconds:.0f} s{', ' if part.counts else ''}{told(part.counts)}")
        for line in part.lines:
            print(f"  {line}")
    total: Counter[str] = sum((part.counts for part in parts), Counter())
    print(f"{told(total)} in {sum(part.seconds for part in parts):.2f}s", flush=True)
    return max((abs(part.status) for part in parts), default=0)


def main(arguments: list[str]) -> int:
    parts = []
    for is_end, words in groupby(arguments, "--".__eq__):
        if not is_end:
            name, *command = words
            parts.append(run(name, " ".join(command)))
    return summarize(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
