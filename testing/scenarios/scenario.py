"""Reads the file of a scenario.

name: lost-acknowledgement
title: The answer to a write is lost, and the producer writes again
explains: |
  What one learns from it, and what clients do.
config: {num.partitions: 1}                    of the broker, by Kafka's names
topics: {orders: {partitions: 1, config: {}}}
producers: {app: {enable.idempotence: false}}  settings of stepdown's producer, by Kafka's names
members: {reader: {group.id: shop, topics: [orders]}}     of consumer groups, as scenario_member.py describes them
steps:
  - arm: {kind: drop, api: Produce, when: after}
  - send: {producer: app, topic: orders, values: [a]}
  - advance: 5s
  - expect: {acknowledged: [a], records: {orders: [a, a]}}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

CLASSICS = Path(__file__).parent / "classics"


class WrongScenario(Exception):
    """A file is no valid scenario; the message says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`steps`: pairs of a step's name and its argument, in order."""

    name: str
    title: str
    explains: str
    steps: Sequence[tuple[str, Any]]
    brokers: int = 1
    config: Mapping[str, object] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    producers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    members: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


NAMES = tuple(each.name for each in fields(Scenario))


def names() -> list[str]:
    """Returns the names of the scenarios in `classics/`."""
    return sorted(path.stem for path in CLASSICS.glob("*.yaml"))


def load(name: str) -> Scenario:
    """Loads a classic by its name, or a file by its path. Raises: WrongScenario."""
    path = CLASSICS / f"{name}.yaml"
    if not path.exists():
        path = Path(name)
    if not path.exists():
        raise WrongScenario(f"there is no scenario {name!r}, and no such file; there are {', '.join(names())}")
    return parse(path.read_text(encoding="utf-8"), str(path))


def parse(text: str, where: str) -> Scenario:
    """Returns the scenario in a text. `where`: its file, for messages. Raises: WrongScenario."""
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as fault:
        raise WrongScenario(f"{where}: {fault}") from None
    if not isinstance(content, dict):
        raise WrongScenario(f"{where}: expected {', '.join(NAMES)}")
    for name in content:
        if name not in NAMES:
            raise WrongScenario(f"{where}: a scenario has no {name!r}, but {', '.join(NAMES)}")
    missing = [name for name in ("name", "title", "explains", "steps") if name not in content]
    if missing:
        raise WrongScenario(f"{where}: {missing[0]} is missing")
    steps: list[tuple[str, Any]] = []
    for number, step in enumerate(content.pop("steps"), 1):
        if not isinstance(step, dict) or len(step) != 1:
            raise WrongScenario(f"{where}: step {number}: expected one name with what it takes, found {step!r}")
        steps.extend(step.items())
    return Scenario(steps=steps, **content)
