"""The table of every setting: stepdown's own, those of Kafka 3.9 that it acts on, and those it only accepts.

Rows live in `tables/`, a file for each noun.
"""

from __future__ import annotations

from collections.abc import Mapping

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
