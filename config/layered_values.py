"""The texts of broker settings by source, and the precedence among them.

The order is: a topic's own values, the broker's dynamic values, the cluster's dynamic defaults, the start-up values
(file, environment, options), the built-in default. Within one source the first synonym that is set wins (KIP-226):
log.retention.ms before log.retention.minutes before log.retention.hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from .keys.value_types import Value, render
from .sources.origin import NOWHERE, Given, Origin
from .tables.all_keys import BROKER_KEYS

MILLISECONDS = {".hours": 3_600_000, ".minutes": 60_000}
"""The factors for synonyms in other units."""


class Source(IntEnum):
    """The source of a value; the numbers are the codes of DescribeConfigs."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Layers:
    """The texts of broker keys by source. All are valid for the types and ranges of their keys."""

    static: Mapping[str, str] = field(default_factory=dict)
    cluster: Mapping[str, str] = field(default_factory=dict)
    broker: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Where the static texts were written."""

    @property
    def kafka_release(self) -> str:
        """The release of Kafka that the broker acts as (`stepdown.act.as`), "" for none."""
        return self.static.get("stepdown.act.as", "")

    def default(self, name: str) -> Value | None:
        """The built-in default of one broker key, or that of the release that the broker acts as."""
        key = BROKER_KEYS[name]
        if self.kafka_release:
            from .release_defaults import defaults_of

            text = defaults_of(self.kafka_release).get(name)
            if text is not None:
                return key.value_of(text)
        return key.default

    def texts_of(self, name: str) -> Iterator[tuple[Source, str]]:
        """Yields the texts of one key by source, the effective one first."""
        for source, texts in (
            (Source.DYNAMIC_BROKER, self.broker),
            (Source.DYNAMIC_DEFAULT_BROKER, self.cluster),
            (Source.STATIC_BROKER, self.static),
        ):
            if name in texts:
                yield source, texts[name]

    def effective_text(self, name: str) -> Given:
        """The effective text of one key and its origin; the default's text if none was given."""
        for source, text in self.texts_of(name):
            static = source is Source.STATIC_BROKER
            return Given(name, text, self.origins.get(name, NOWHERE) if static else NOWHERE)
        return Given(name, render(self.default(name)) or "", NOWHERE)

    def value(self, name: str) -> Value | None:
        """The effective value of one broker key, without regard to its synonyms."""
        key = BROKER_KEYS[name]
        for _, text in self.texts_of(name):
            return key.value_of(text)
        return self.default(name)

    def value_of_synonyms(self, names: tuple[str, ...]) -> Value | None:
        """The effective value of a setting with several keys, times in milliseconds; else the first default."""
        for texts in (self.broker, self.cluster, self.static):
            for name in names:
                if name in texts:
                    return to_milliseconds(name, BROKER_KEYS[name].value_of(texts[name]))
        for name in names:
            default = self.default(name)
            if default is not None:
                return to_milliseconds(name, default)
        return None


def to_milliseconds(name: str, value: Value | None) -> Value | None:
    """Converts the value of a key in hours or minutes to milliseconds; any other value is returned unchanged."""
    for suffix, factor in MILLISECONDS.items():
        if name.endswith(suffix) and isinstance(value, int):
            return value * factor
    return value
