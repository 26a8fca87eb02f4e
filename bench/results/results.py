"""Results, samples and events of a run: one JSON object a line (docs/benchmarks.md has the schema).

| shape | kind | what |
|---|---|---|
| Result | round, median, ratio | what a round measured; the medians of all rounds; our medians over theirs |
| Sample | sample | one figure at one moment |
| Event | fetch, produce | one request and its answer |
"""

import json
import os
import platform
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from typing import IO, Any, Literal

SCHEMA = 1
Kind = Literal["round", "median", "ratio"]
Value = int | float | str


def time_of(seconds: float) -> str:
    """Seconds since the epoch as they are written: ISO 8601 in UTC, milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one server did in one case: `values` by name, their units part of the name."""

    kind: Kind
    bench: str
    case: Mapping[str, Value]
    server: str
    version: str
    values: Mapping[str, float]
    round: int = 0
    ts: str = field(default_factory=_now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One figure at one moment, `t_s` seconds after the round began."""

    bench: str
    case: Mapping[str, Value]
    server: str
    version: str
    round: int
    t_s: float
    metric: str
    value: float
    ts: str = field(default_factory=_now)
    kind: Literal["sample"] = "sample"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One request and its answer. `rate`: requests a second that its connection keeps to, 0 where it keeps to none."""

    kind: Literal["fetch", "produce"]
    bench: str
    config: str
    round: int
    partitions: int
    rate: int
    client: str
    latency_us: int
    bytes: int
    ts: str


def config_of(server: str, version: str, case: Mapping[str, Value]) -> str:
    """Who did what, in words: the same in all lines about it."""
    return f"{server} {version}: {' '.join(f'{name}={value}' for name, value in case.items())}"


def settings_that_differ(results: Sequence[Result]) -> list[str]:
    """The names of the settings that differ between the cases; all names if none differs."""
    names = list(results[0].case)
    return [name for name in names if len({result.case[name] for result in results}) > 1] or names


class Journal:
    """Keeps a run's results and samples, and writes each to `outputs` as soon as it is known; events to `events`."""

    def __init__(self, *outputs: IO[str], events: IO[str] | None = None) -> None:
        self.run = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}"
        self.results: list[Result] = []
        self.samples: list[Sample] = []
        self.machine: dict[str, Value] = {**machine(), "load_average": round(os.getloadavg()[0], 2)}
        self._outputs = outputs
        self._events = events

    @property
    def wants_events(self) -> bool:
        return self._events is not None

    def note(self, result: Result) -> Result:
        self.results.append(result)
        self._write(result, machine=self.machine)
        return result

    def note_sample(self, sample: Sample) -> None:
        self.samples.append(sample)
        self._write(sample)

    def note_events(self, events: Iterable[Event]) -> None:
        """Writes them, and keeps none."""
        if self._events is not None:
            self._events.writelines(json.dumps(self._head() | asdict(event)) + "\n" for event in events)
            self._events.flush()

    def conclude(self, bench: str, case: Mapping[str, Value]) -> list[Result]:
        """Notes the medians of a case's rounds, and the ratios where there is a peer; gives them back."""
        by_server: dict[tuple[str, str], list[Result]] = {}
        for result in self.results:
            if result.kind == "round" and result.bench == bench and result.case == case:
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

    def _head(self) -> dict[str, Value]:
        return {"schema": SCHEMA, "run": self.run}

    def _write(self, line: Result | Sample, **more: Any) -> None:
        config = config_of(line.server, line.version, line.case)
        text = json.dumps({**self._head(), "config": config, **asdict(line), **more})
        for output in self._outputs:
            output.write(text + "\n")
            output.flush()


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
