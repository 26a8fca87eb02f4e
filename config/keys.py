"""The table of every setting: stepdown's own, those of Kafka 3.9 that it acts on, and those it only accepts.

Rows live in `tables/`, a file for each noun. Names that are in no row are judged here: plugins and listeners bring
their own keys in Kafka, and some keys of old brokers were removed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from .key import Key
from .tables import (
    broker,
    cleaner,
    controller,
    groups,
    log,
    metrics,
    network,
    plugins,
    quotas,
    replication,
    security,
    stepdown,
    tiers,
    topics,
    transactions,
)

_BROKER_ROOMS = (
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
    controller,
    metrics,
    plugins,
    tiers,
)

BROKER_KEYS: Mapping[str, Key] = {key.name: key for room in _BROKER_ROOMS for key in room.KEYS}
"""Every broker key by its name."""

TOPIC_KEYS: Mapping[str, Key] = {key.name: key for key in topics.KEYS}
"""Every topic key by its name."""

FOREIGN_PREFIXES = (
    "listener.name.",
    "config.providers",
    "confluent.",
    "kafka.metrics.",
    "metric.",
    "metrics.",
    "metrics.context.",
    "rlmm.config.",
    "rsm.config.",
    "remote.log.",
    "sasl.",
    "ssl.",
    "client.quota.callback.",
)
"""Beginnings of names that Kafka hands to plugins, or reads for one listener."""

REMOVED: Mapping[str, str] = {
    "host.name": "listeners",
    "port": "listeners",
    "advertised.host.name": "advertised.listeners",
    "advertised.port": "advertised.listeners",
    "quota.producer.default": "",
    "quota.consumer.default": "",
    "zookeeper.sync.time.ms": "",
    "replica.fetch.backoff.max.ms": "",
    "log.cleanup.interval.mins": "log.retention.check.interval.ms",
    "log.file.size": "log.segment.bytes",
    "num.replica.alter.log.dirs": "",
    "inter.broker.start.timeout.ms": "",
}
"""Keys of brokers before Kafka 3.0, with the key that has taken their place ("" if none)."""

_CLOSE = 0.8


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most probably was meant to be; None if none is close."""
    folded = {candidate.lower(): candidate for candidate in known}
    asked = name.lower().replace("_", ".")
    found = difflib.get_close_matches(asked, folded, n=1, cutoff=_CLOSE)
    return folded[found[0]] if found else None


def is_foreign(name: str) -> bool:
    """Whether Kafka would hand a key of this name to a plugin or read it for one listener."""
    return name.startswith(FOREIGN_PREFIXES)
