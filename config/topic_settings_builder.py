"""Builds TopicSettings from a topic's own values and the broker's defaults.

As in Kafka 3.9 LogConfig, unknown names are refused, min.compaction.lag.ms may not exceed max.compaction.lag.ms, and
the two timestamp bounds, if they have their default, take the value of message.timestamp.difference.max.ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import ConfigError, Problem, wrong_value
from .keys.key import MAX_LONG, Key
from .keys.value_types import Value
from .layered_values import Layers
from .settings import TopicSettings
from .sources.origin import NOWHERE, Given
from .tables.all_keys import TOPIC_KEYS
from .unknown_keys import unknown_topic_key_problem


def topic_settings(layers: Layers, overrides: Mapping[str, str]) -> TopicSettings:
    """Builds the settings of a topic whose own values are `overrides`.

    Raises:
        ConfigError: a key is unknown, a value is wrong, or two contradict each other.
    """
    values: dict[str, Any] = {key.attribute: broker_default(layers, key) for key in TOPIC_KEYS.values()}
    _apply_timestamp_difference(values)
    problems = []
    keys = topic_keys(layers)
    for name, text in overrides.items():
        key = keys.get(name)
        if key is None:
            problems.append(unknown_topic_key_problem(name, keys))
            continue
        try:
            values[key.attribute] = key.value_of(text)
        except ValueError:
            problems.append(wrong_value(Given(name, text, NOWHERE), key.expected))
    if not problems and values["min_compaction_lag_ms"] > values["max_compaction_lag_ms"]:
        text = f"expected at most max.compaction.lag.ms, which is {values['max_compaction_lag_ms']}"
        problems.append(Problem(key="min.compaction.lag.ms", expected=text, found=str(values["min_compaction_lag_ms"])))
    if problems:
        raise ConfigError(problems)
    _apply_timestamp_difference(values)
    return TopicSettings(**values)


def topic_keys(layers: Layers) -> Mapping[str, Key]:
    """The settings that a topic may have, which depend on the release that the broker acts as."""
    if not layers.kafka_release:
        return TOPIC_KEYS
    from .release_defaults import missing_topic_settings

    missing = missing_topic_settings(layers.kafka_release)
    return {name: key for name, key in TOPIC_KEYS.items() if name not in missing}


def broker_default(layers: Layers, key: Key) -> Value | None:
    """The value of `key` for topics that do not set it: the broker's, or the built-in default."""
    if not key.synonyms:
        return key.default
    value = layers.value_of_synonyms(key.synonyms)
    if key.name == "retention.ms" and isinstance(value, int):
        return max(value, -1)
    return key.default if value is None else value


def _apply_timestamp_difference(values: dict[str, Any]) -> None:
    for bound in ("message_timestamp_before_max_ms", "message_timestamp_after_max_ms"):
        if values[bound] == MAX_LONG:
            values[bound] = values["message_timestamp_difference_max_ms"]
