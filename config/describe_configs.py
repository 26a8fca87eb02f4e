"""Describes settings for DescribeConfigs v0-v4: value, source, synonyms, type, documentation.

It follows Kafka 3.9 ConfigHelper. Passwords have no value. Synonyms are in the order of precedence. Unlike Kafka, a
topic value from a second synonym (log.retention.hours) has its real source, not the default.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from .keys.key import Key
from .keys.value_types import render
from .layered_values import Layers, Source
from .tables.all_keys import BROKER_KEYS
from .topic_settings_builder import broker_default, topic_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Synonym:
    """A key and source with a value for a setting; the first synonym's value is used."""

    name: str
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRow:
    """One described setting; `kind`: the code of its type; `value`: None if it is absent or secret."""

    name: str
    value: str | None
    source: Source
    read_only: bool
    sensitive: bool
    synonyms: tuple[Synonym, ...]
    kind: int
    doc: str


def describe_topic(
    layers: Layers, overrides: Mapping[str, str], wanted: Collection[str] = frozenset()
) -> Iterator[ConfigRow]:
    """Yields the settings of a topic whose own, valid values are `overrides`; internal ones only if they are set.

    If `wanted` is not empty, only those settings.
    """
    keys = (key for key in topic_keys(layers).values() if _is_wanted(key, wanted))
    return (_topic_row(layers, overrides, key) for key in keys if not key.internal or key.name in overrides)


def describe_broker(layers: Layers, wanted: Collection[str] = frozenset()) -> Iterator[ConfigRow]:
    """Yields the settings of the broker, internal ones only if they are set; only those `wanted`, if any are."""
    keys = (key for key in BROKER_KEYS.values() if _is_wanted(key, wanted))
    return (_broker_row(layers, key) for key in keys if not key.internal or any(layers.texts_of(key.name)))


def describe_cluster_defaults(layers: Layers, wanted: Collection[str] = frozenset()) -> Iterator[ConfigRow]:
    """Yields the dynamic defaults of the cluster that are set; only those `wanted`, if any are."""
    only = Layers(cluster=layers.cluster)
    keys = [BROKER_KEYS[name] for name in layers.cluster if name in BROKER_KEYS]
    return (_broker_row(only, key) for key in keys if _is_wanted(key, wanted))


def _is_wanted(key: Key, wanted: Collection[str]) -> bool:
    return not wanted or key.name in wanted


def _topic_row(layers: Layers, overrides: Mapping[str, str], key: Key) -> ConfigRow:
    synonyms = tuple(synonym for name in key.synonyms for synonym in _synonyms(layers, BROKER_KEYS[name]))
    synonyms = tuple(sorted(synonyms, key=lambda synonym: synonym.source))
    value = render(broker_default(layers, key))
    if key.name in overrides:
        value = render(key.value_of(overrides[key.name]))
        synonyms = (Synonym(name=key.name, value=value, source=Source.TOPIC), *synonyms)
    source = synonyms[0].source if synonyms else Source.DEFAULT
    return _make_row(key, value, source, synonyms, read_only=False)


def _broker_row(layers: Layers, key: Key) -> ConfigRow:
    names = key.synonyms or (key.name,)
    synonyms = tuple(synonym for name in names for synonym in _synonyms(layers, BROKER_KEYS[name]))
    own = next((synonym.source for synonym in _synonyms(layers, key)), Source.DEFAULT)
    ordered = tuple(sorted(synonyms, key=lambda synonym: synonym.source))
    return _make_row(key, render(layers.value(key.name)), own, ordered, read_only=not key.dynamic)


def _make_row(
    key: Key, value: str | None, source: Source, synonyms: tuple[Synonym, ...], *, read_only: bool
) -> ConfigRow:
    return ConfigRow(
        name=key.name,
        value=None if key.sensitive else value,
        source=source,
        read_only=read_only,
        sensitive=key.sensitive,
        synonyms=synonyms,
        kind=key.kind.value,
        doc=key.doc,
    )


def _synonyms(layers: Layers, key: Key) -> Iterator[Synonym]:
    """Yields the values of one broker key by source, the built-in default last."""
    for source, text in layers.texts_of(key.name):
        yield Synonym(name=key.name, value=None if key.sensitive else text, source=source)
    default = layers.default(key.name)
    if default is not None:
        yield Synonym(name=key.name, value=render(default), source=Source.DEFAULT)
