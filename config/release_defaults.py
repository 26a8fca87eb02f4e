"""The defaults and topic settings of the releases of Apache Kafka that a broker may act as.

Source: Kafka's `KafkaConfig` and `LogConfig`, through `tables/release_table.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .tables.release_table import DEFAULTS, TOPIC_SETTINGS

NONE = "-"


@cache
def defaults_of(release: str) -> Mapping[str, str]:
    """The defaults in this release, for those broker settings whose default differs between releases."""
    return {name: text for name, text in _column_of_release(DEFAULTS, release).items() if text != NONE}


@cache
def missing_topic_settings(release: str) -> frozenset[str]:
    """The topic settings that this release lacks and others have."""
    return frozenset(name for name, text in _column_of_release(TOPIC_SETTINGS, release).items() if text == NONE)


def _column_of_release(table: str, release: str) -> dict[str, str]:
    (_, *releases), *rows = (line.split() for line in table.splitlines())
    column = releases.index(release)
    return {name: cells[column] for name, *cells in rows}
