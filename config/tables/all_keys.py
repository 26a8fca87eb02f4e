"""The table of every setting: stepdown's own, those of Kafka 3.9 that it acts on, and those it only accepts.

Each subject has a module beside this one. `PENDING` has the keys that are to be acted on but are not yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..keys.key import Key, Status
from . import (
    broker,
    cleaner,
    controller,
    groups,
    log,
    metrics,
    network,
    policies,
    quotas,
    replication,
    security,
    stepdown,
    tiered_storage,
    topics,
    transactions,
    zookeeper,
)

_BROKER_TABLES = (
    broker,
    network,
    log,
    cleaner,
    groups,
    transactions,
    stepdown,
    replication,
    quotas,
    security,
    zookeeper,
    controller,
    metrics,
    policies,
    tiered_storage,
)

PENDING = frozenset(
    (
        "inter.broker.listener.name",
        "queued.max.requests",
        "num.io.threads",
        "num.recovery.threads.per.data.dir",
    )
)
"""Keys whose values are checked and stored in the settings, but not used; their `doc` says why."""


def _by_name(rows: Iterable[Key]) -> dict[str, Key]:
    return {key.name: _mark_not_acted_on(key) if key.name in PENDING else key for key in rows}


def _mark_not_acted_on(key: Key) -> Key:
    return replace(key, status=Status.ACCEPTED)


BROKER_KEYS: Mapping[str, Key] = _by_name(key for table in _BROKER_TABLES for key in table.KEYS)
"""Every broker key by its name."""

TOPIC_KEYS: Mapping[str, Key] = _by_name(topics.KEYS)
"""Every topic key by its name."""
