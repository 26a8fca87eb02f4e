"""Changes settings while the broker runs (KIP-226, KIP-339).

The tables define which keys may change. `with_dynamic_values` returns layers with the new dynamic values, or raises an
error with all problems. As in Kafka's DynamicThreadPool and LogCleaner, one change can at most double or halve a thread
count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from .broker_settings_builder import broker_settings
from .errors import ConfigError, Problem, wrong_value
from .keys.key import AT_START, PER_BROKER, Key
from .keys.value_types import ValueType, render
from .layered_values import Layers
from .listener_security import find_problem_of_capitals, key_of_listener
from .sources.origin import NOWHERE, Given
from .tables.all_keys import BROKER_KEYS
from .unknown_keys import is_foreign, unknown_key_problem

MOST_BYTES = (1 << 15) - 1
"""The longest value: a string of a metadata record has no more bytes."""

THREAD_COUNTS = (
    "num.io.threads",
    "num.recovery.threads.per.data.dir",
    "num.network.threads",
    "background.threads",
    "log.cleaner.threads",
)


class Operation(IntEnum):
    """An operation of IncrementalAlterConfigs on one key; the value is its code."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Alteration:
    """One operation on a key; DELETE ignores `text`."""

    key: str
    operation: Operation
    text: str = ""


def alter(current: Mapping[str, str], alterations: Iterable[Alteration], keys: Mapping[str, Key]) -> dict[str, str]:
    """Returns a copy of a resource's texts after the alterations; it does not check the values.

    APPEND and SUBTRACT start from the key's built-in default if it is not set; APPEND adds only missing items.

    Raises:
        ConfigError: APPEND or SUBTRACT for a key that is no list, or a value is too long.
    """
    texts = dict(current)
    problems = []
    for alteration in alterations:
        name = alteration.key
        if alteration.operation is Operation.SET:
            texts[name] = alteration.text
        elif alteration.operation is Operation.DELETE:
            texts.pop(name, None)
        elif name in keys and keys[name].kind is ValueType.LIST:
            texts[name] = ",".join(_change_items(texts, keys[name], alteration))
        else:
            problems.append(Problem(key=name, expected=f"cannot {alteration.operation.name}: its type is not a list"))
    problems += [
        Problem(key=name, expected=f"a value of at most {MOST_BYTES} bytes, as the metadata log has no longer ones")
        for name, text in texts.items()
        if len(text.encode()) > MOST_BYTES
    ]
    if problems:
        raise ConfigError(problems)
    return texts


def _change_items(texts: Mapping[str, str], key: Key, alteration: Alteration) -> list[str]:
    """The items of a list after APPEND or SUBTRACT. It uses sets, since both lists may have thousands of items."""
    present, named = _split_items(texts.get(key.name, render(key.default) or "")), _split_items(alteration.text)
    if alteration.operation is Operation.APPEND:
        known = frozenset(present)
        return [*present, *(each for each in dict.fromkeys(named) if each not in known)]
    left_to_remove = Counter(named)
    items = []
    for item in present:
        if left_to_remove[item]:
            left_to_remove[item] -= 1
        else:
            items.append(item)
    return items


def _split_items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def with_dynamic_values(
    layers: Layers, *, cluster: Mapping[str, str] | None = None, broker: Mapping[str, str] | None = None
) -> Layers:
    """Returns layers in which these replace the cluster's dynamic defaults, or the broker's own dynamic values.

    Raises:
        ConfigError: a key is unknown or may not change, or values are wrong or contradict each other.
    """
    problems: list[Problem] = []
    changed = layers
    if cluster is not None:
        problems += _find_problems(layers, cluster, layers.cluster, for_one_broker=False)
        changed = replace(changed, cluster=dict(cluster))
    if broker is not None:
        problems += _find_problems(layers, broker, layers.broker, for_one_broker=True)
        changed = replace(changed, broker=dict(broker))
    if problems:
        raise ConfigError(problems)
    broker_settings(changed)
    return changed


def _find_problems(
    layers: Layers, texts: Mapping[str, str], before: Mapping[str, str], *, for_one_broker: bool
) -> Iterable[Problem]:
    for name, text in texts.items():
        if before.get(name) == text:
            continue
        fault = _find_problem(layers, Given(name, text, NOWHERE), for_one_broker=for_one_broker)
        if fault is not None:
            yield fault


def _find_problem(layers: Layers, given: Given, *, for_one_broker: bool) -> Problem | None:
    key = BROKER_KEYS.get(given.key) or key_of_listener(given.key)
    if key is None:
        return find_problem_of_capitals(given) or (None if is_foreign(given.key) else unknown_key_problem(given.key))
    if key.change is AT_START:
        return Problem(
            key=given.key, expected="cannot change while the broker runs; set it where the broker is started"
        )
    if not for_one_broker and (key.change is PER_BROKER or key.sensitive):
        return Problem(key=key.name, expected="can only be set for one broker, not as a default of the cluster")
    try:
        value = key.value_of(given.text)
    except ValueError:
        return wrong_value(given, key.expected, sensitive=key.sensitive)
    present = layers.value(key.name)
    if key.name in THREAD_COUNTS and isinstance(present, int) and isinstance(value, int):
        low, high = max(1, present // 2), max(1, present * 2)
        if not low <= value <= high:
            return wrong_value(given, f"a number from {low} to {high}, half to double the present {present}")
    return None
