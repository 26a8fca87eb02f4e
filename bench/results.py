"""Results: one JSON object a line, each complete in itself (docs/benchmarks.md describes the schema).

| field | type | what |
|---|---|---|
| schema | int | 1 |
| kind | str | "round": a measurement; "median": of all rounds; "ratio": our median over theirs; "sample": a moment |
| run, at | str, str | a name for the run, shared by its lines; when the line was made, ISO 8601 in UTC |
| bench | str | the question: memory, convert, chunks, fetch, produce, mixed, start |
| case | object | what was asked: numbers and strings by setting |
| server, version | str | stepdown or kafka, and which; of a ratio "stepdown/kafka" and both versions |
| round | int | counted from 1; 0 where a line is about no single round |
| values | object | numbers by name; units are part of the name |
| machine | object | cores, cpu, memory_bytes, kernel, python |
"""

import json
import os
import platform
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from typing import IO, Literal

SCHEMA = 1
Kind = Literal["round", "median", "ratio", "sample"]
Value = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line."""

    kind: Kind
    bench: str
    case: Mapping[str, Value]
    server: str
    version: str
    values: Mapping[str, float]
    round: int = 0
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))


class Journal:
    """Keeps a run's results, and writes each to the files it was given as soon as it is known."""

    def __init__(self, *outputs: IO[str]) -> None:
        self.run = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
        self.results: list[Result] = []
        self._outputs = outputs

    def note(self, result: Result) -> Result:
        self.results.append(result)
        for output in self._outputs:
            output.write(self.line(result) + "\n")
            output.flush()
        return result

    def line(self, result: Result) -> str:
        """The result as it is written."""
        return json.dumps({"schema": SCHEMA, "run": self.run, **asdict(result), "machine": machine()})

    def conclude(self, bench: str, case: Mapping[str, Value]) -> list[Result]:
        """Notes the medians of a case's rounds, and the ratios where there is a peer; gives them back."""
        rounds = [
            result
            for result in self.results
            if result.kind == "round" and result.bench == bench and result.case == case
        ]
        by_server: dict[tuple[str, str], list[Result]] = {}
        for result in rounds:
            by_server.setdefault((result.server, result.version), []).append(result)
        medians = [
            self.note(
                Result(kind="median", bench=bench, case=case, server=name, version=version, values=medians_of(measured))
            )
            for (name, version), measured in by_server.items()
        ]
        if len(medians) == 2:
            medians.append(self.note(ratio(*medians)))
        return medians


def medians_of(results: Iterable[Result]) -> dict[str, float]:
    """The median of each value that all results have."""
    rows = [result.values for result in results]
    return {name: median(row[name] for row in rows) for name in rows[0] if all(name in row for row in rows)}


def ratio(ours: Result, theirs: Result) -> Result:
    """Each value of ours over theirs; those that are 0 there are left out."""
    values = {name: ours.values[name] / value for name, value in theirs.values.items() if value and name in ours.values}
    return Result(
        kind="ratio",
        bench=ours.bench,
        case=ours.case,
        server=f"{ours.server}/{theirs.server}",
        version=f"{ours.version}/{theirs.version}",
        values=values,
    )


@cache
def machine() -> dict[str, Value]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count() or 0,
        "cpu": _cpu_model(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
