"""Keys that no table has: those of plugins, of older brokers, of topics, and misspelt ones.

Kafka only warns of keys it does not know. stepdown refuses an unknown key and suggests the nearest known one. Keys that
Kafka hands to plugins or reads for one listener are accepted by their prefix, and so are keys that Kafka has removed.
"""

from __future__ import annotations

from collections.abc import Mapping

from .errors import Problem
from .similar_names import nearest
from .sources.origin import NOWHERE, Origin
from .tables.all_keys import BROKER_KEYS, TOPIC_KEYS

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
"""Prefixes of keys that Kafka hands to plugins, or reads for one listener."""

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


def is_foreign(name: str) -> bool:
    """Whether Kafka would hand a key of this name to a plugin or read it for one listener."""
    return name.startswith(FOREIGN_PREFIXES)


def unknown_key(name: str, origin: Origin = NOWHERE) -> Problem:
    """The problem of a broker key that is not known."""
    if name in TOPIC_KEYS and TOPIC_KEYS[name].synonyms:
        expected = f"a setting of topics; the broker's default is {TOPIC_KEYS[name].synonyms[0]}"
        return Problem(key=name, expected=expected, origin=origin)
    return Problem(key=name, expected="no such setting", origin=origin, nearest=nearest(name, BROKER_KEYS))
