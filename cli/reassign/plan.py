"""Reads and writes reassignment plans: the JSON of `kafka-reassign-partitions.sh`.

    {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}

`log_dirs` may only be "any" for each replica: this command does not choose directories of brokers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.failures import EXIT_BAD_USAGE, CommandFailure

if TYPE_CHECKING:
    from ...client.operation import TopicPartition

MAX_NUMBER = 2**31 - 1
VERSION = 1
EXAMPLE = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [1, 2]}]}'


def read_plan(file: Path) -> dict[TopicPartition, Sequence[int]]:
    """Returns the plan in a file, or in stdin for `-`. Raises: CommandFailure."""
    try:
        data = _read_stdin() if str(file) == "-" else file.read_bytes()
        return parse_plan(json.loads(data))
    except (ValueError, RecursionError) as fault:
        raise CommandFailure(f"{file}: {fault}", f"Expected {EXAMPLE}", EXIT_BAD_USAGE) from fault


def _read_stdin() -> bytes:
    with open(sys.stdin.fileno(), "rb", closefd=False) as given:
        return given.read()


def parse_plan(document: Any) -> dict[TopicPartition, Sequence[int]]:
    """Returns the replicas of each partition. Raises: ValueError that says what is wrong."""
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise ValueError("there is no list of partitions")
    if document.get("version", VERSION) != VERSION:
        raise ValueError(f"version {document['version']} is not known, {VERSION} is")
    plan: dict[TopicPartition, Sequence[int]] = {}
    for entry in document["partitions"]:
        topic_partition, replicas = _parse_entry(entry)
        if topic_partition in plan:
            raise ValueError(f"{topic_partition[0]}-{topic_partition[1]} is there twice")
        plan[topic_partition] = replicas
    if not plan:
        raise ValueError("there are no partitions in it")
    return plan


def _parse_entry(entry: Any) -> tuple[TopicPartition, Sequence[int]]:
    if not isinstance(entry, dict) or not isinstance(entry.get("topic"), str) or not _is_number(entry.get("partition")):
        raise ValueError(f"not a partition: {entry}")
    name, replicas = f"{entry['topic']}-{entry['partition']}", entry.get("replicas")
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        raise ValueError(f"{name}: replicas are ids of brokers, found {replicas}")
    if len(set(replicas)) < len(replicas):
        raise ValueError(f"{name}: a broker is there twice in {replicas}")
    if any(each != "any" for each in entry.get("log_dirs") or ()):
        raise ValueError(f"{name}: log_dirs are not supported; leave them out, or say any")
    return (entry["topic"], entry["partition"]), replicas


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def format_plan(plan: Mapping[TopicPartition, Sequence[int]]) -> str:
    """Returns the plan as a line of JSON."""
    partitions = [
        {"topic": topic, "partition": partition, "replicas": list(replicas)}
        for (topic, partition), replicas in sorted(plan.items())
    ]
    return json.dumps({"version": VERSION, "partitions": partitions})
