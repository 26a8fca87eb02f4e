"""The texts of broker settings by source, and which of them counts.

Precedence: the broker's dynamic values, the cluster's dynamic defaults, the start-up values (file, environment,
options), the built-in default; a topic's own values come before all of these. Within one source the first synonym that
is set wins (KIP-226): log.retention.ms before log.retention.minutes before log.retention.hours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from .keys.value_types import Value, render
from .sources.origin import NOWHERE, Given, Origin
from .tables.all_keys import BROKER_KEYS

MILLISECONDS = {".hours": 3_600_000, ".minutes": 60_000}
"""What a synonym in another unit is multiplied by."""


class Source(IntEnum):
    """Where a value comes from, by its DescribeConfigs code."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Layers:
    """The texts that were given for broker keys, by source. All of them are valid for their keys' types and ranges."""

    static: Mapping[str, str] = field(default_factory=dict)
    cluster: Mapping[str, str] = field(default_factory=dict)
    broker: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Where the static texts were written."""

    @property
    def release(self) -> str:
        """The release of Kafka that the broker acts as, "" for none."""
        return self.static.get("stepdown.act.as", "")

    def default(self, name: str) -> Value | None:
        """The built-in default of one broker key, or that of the release that the broker acts as."""
        key = BROKER_KEYS[name]
        if self.release:
            from .release_defaults import defaults_of

            text = defaults_of(self.release).get(name)
            if text is not None:
                return key.value_of(text)
        return key.default

    def texts_of(self, name: str) -> Iterator[tuple[Source, str]]:
        """The texts given for one key, the one that counts first."""
        for source, texts in (
            (Source.DYNAMIC_BROKER, self.broker),
            (Source.DYNAMIC_DEFAULT_BROKER, self.cluster),
            (Source.STATIC_BROKER, self.static),
        ):
            if name in texts:
                yield source, texts[name]

    def effective_text(self, name: str) -> Given:
        """What was given for one key and where, the default's text if nothing was."""
        for source, text in self.texts_of(name):
            static = source is Source.STATIC_BROKER
            return Given(name, text, self.origins.get(name, NOWHERE) if static else NOWHERE)
        return Given(name, render(self.default(name)) or "", NOWHERE)

    def value(self, name: str) -> Value | None:
        """The value of one broker key, its synonyms left aside."""
        key = BROKER_KEYS[name]
        for _, text in self.texts_of(name):
            return key.value_of(text)
        return self.default(name)

    def first_of(self, names: tuple[str, ...]) -> Value | None:
        """The value of a setting that has several keys, in the unit of the first; else the first default there is."""
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
    """A value in milliseconds where its key counts hours or minutes; any other value as it is."""
    for suffix, factor in MILLISECONDS.items():
        if name.endswith(suffix) and isinstance(value, int):
            return value * factor
    return value
