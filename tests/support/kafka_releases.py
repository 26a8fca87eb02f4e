"""Writes protocol/kafka_release_table.py from the jars of kafka-clients: `python -m support.kafka_releases` in tests/.

Maintenance releases of a line have the same versions but for 4.0.0 and 4.0.1, so one jar stands for each line.
"""

import os
from pathlib import Path

from .clients_raw import string
from .java_oracle import java_oracle_for
from .maven import REPOSITORY_ROOT, class_path

TABLE = REPOSITORY_ROOT / "protocol" / "kafka_release_table.py"
LAST_OF_LINE = {
    "0.8.2": "0.8.2.2",
    "0.9": "0.9.0.1",
    "0.10.0": "0.10.0.1",
    "0.10.1": "0.10.1.1",
    "0.10.2": "0.10.2.2",
    "0.11": "0.11.0.3",
    "1.0": "1.0.2",
    "1.1": "1.1.1",
    "2.0": "2.0.1",
    "2.1": "2.1.1",
    "2.4": "2.4.1",
    "2.8": "2.8.2",
    "3.9": "3.9.1",
    "4.0": "4.0.1",
    "4.1": "4.1.1",
    "4.2": "4.2.1",
    "4.3": "4.3.1",
    "4.4": "4.4.0",
}
"""Name of a line to the release whose jar stands for it."""

BROKERS = ("0.10.2", "1.1", "2.8", "3.9.1", "4.0.0", "4.0.1", "4.1", "4.2", "4.3", "4.4")
CLIENTS = tuple(line for line in LAST_OF_LINE if line not in ("4.0", "4.1", "4.2", "4.3"))

LISTENERS = {"2.8": "ZK_BROKER"}
"""What 2.8 has with ZooKeeper: with KRaft, which was new, it lacked half of the requests."""
ANY_LISTENER = "BROKER|ZK_BROKER"

BROKERS_OWN = (4, 5, 6, 7, 56, 58, 67)
"""What only brokers with ZooKeeper ask each other and their controller."""

HEAD = '''\
"""Request versions of Apache Kafka's releases, written by tests/support/kafka_releases.py from their jars. Do not edit.

A test fails when a jar says something else. `kafka_releases.py` reads this.
"""

BROKER_VERSIONS = """\\
{brokers}
"""
"""What brokers of a release answer to clients: the oldest and the newest version, `-` where they have none."""

CLIENT_VERSIONS = """\\
{clients}
"""
"""The newest version that Java clients of a release know, `-` where they have none."""
'''

Ranges = dict[int, tuple[str, int, int]]
"""Key of an API to its name, oldest and newest version."""


def ranges_of(release: str, listeners: str = ANY_LISTENER) -> Ranges:
    """What kafka-clients of a release or line says of listeners whose names match."""
    version = LAST_OF_LINE.get(release, release)
    jars = os.pathsep.join(map(str, class_path(f"org.apache.kafka:kafka-clients:{version}")))
    answer = java_oracle_for("api_ranges").call("ApiRanges.ofJars", string(jars) + string(listeners))
    rows = [line.split() for line in answer.decode().splitlines()]
    return {int(key): (name, int(first), int(last)) for key, name, first, last in rows}


def table() -> str:
    """The text of the module."""
    brokers = {release: ranges_of(release, LISTENERS.get(release, ANY_LISTENER)) for release in BROKERS}
    clients = {line: ranges_of(line) for line in CLIENTS}
    names = {key: row[0] for ranges in brokers.values() for key, row in ranges.items() if key not in BROKERS_OWN}
    return HEAD.format(
        brokers=_text(names, brokers, is_range=True),
        clients=_text(names, clients, is_range=False),
    )


def _text(names: dict[int, str], columns: dict[str, Ranges], *, is_range: bool) -> str:
    rows = [("key", "request", *columns)]
    for key, name in sorted(names.items()):
        rows.append((str(key), name, *(_cell(ranges.get(key), is_range=is_range) for ranges in columns.values())))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cell(row: tuple[str, int, int] | None, *, is_range: bool) -> str:
    if row is None:
        return "-"
    _, first, last = row
    return f"{first}-{last}" if is_range else str(last)


if __name__ == "__main__":
    Path(TABLE).write_text(table())
