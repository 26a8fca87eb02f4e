"""Parses the output of `kafka-topics.sh --describe` and `kafka-configs.sh --describe --entity-type topics`.

| tool | Kafka | a topic's line |
|---|---|---|
| kafka-topics | 0.10 to 2.3 | `Topic:a	PartitionCount:2	ReplicationFactor:1	Configs:x=1,y=2` |
| kafka-topics | 2.4 to 4.x | `Topic: a	TopicId: …	PartitionCount: 2	ReplicationFactor: 1	Configs: x=1,y=2` |
| kafka-configs | with ZooKeeper | `Configs for topic 'a' are x=1,y=2` |
| kafka-configs | with a broker | `Dynamic configs for topic a are:` and `  x=1 sensitive=false synonyms={…}` |

If both are given, kafka-configs counts: kafka-topics also shows settings of the broker.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...config.similar_names import nearest
from ...config.tables.all_keys import TOPIC_KEYS

_TOPIC = re.compile(
    r"Topic: ?(?P<name>\S+)\t(?:.*\t)?PartitionCount: ?(?P<partitions>[0-9]{1,9})\t.*?Configs: ?(?P<configs>[^\t]*)"
)
_PARTITION = re.compile(r"\s+Topic: ?(?P<name>\S+)\s+Partition: ?[0-9]+\b.*")
_CONFIGS = re.compile(r"Configs for topics?[ :]'?(?P<name>[\w.-]+)'? are ?(?P<configs>.*)")
_DYNAMIC = re.compile(r"(Dynamic|All) configs for topic '?(?P<name>[\w.-]+)'? are:?\s*")
_ROW = re.compile(r"\s+(?P<key>[\w.-]+)=(?P<value>.*?) sensitive=(?:true|false) synonyms=\{(?P<synonyms>.*)\}")
_OWN = "DYNAMIC_TOPIC_CONFIG:"
_NEXT_KEY = re.compile(r",(?=[a-z][a-z0-9.]*=)")
"""A comma before a key, unlike that in `cleanup.policy=compact,delete`."""
_NOISE = ("Warning:", "Use --bootstrap-server", "WARNING", "SLF4J", "Picked up", "OpenJDK", "[")
"""Beginnings of lines that come from the JVM, loggers or the tools."""


class NotUnderstood(ValueError):
    """A line cannot be parsed; the message names file, line and topic."""


@dataclass(slots=True)
class DescribedTopic:
    """The partition count and settings of a topic in the files; None where they have none."""

    partitions: int | None = None
    configs: dict[str, str] | None = None


@dataclass(slots=True)
class ToolOutput:
    """The topics of all files read so far. Raises: NotUnderstood from `read`."""

    topics: dict[str, DescribedTopic] = field(default_factory=dict)
    _exact: set[str] = field(default_factory=set)
    """Topics whose settings come from kafka-configs."""

    def read(self, lines: Iterable[str], file: str) -> None:
        """Adds the topics in the lines of a file."""
        current = ""
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\r\n")
            try:
                current = self._read_line(line, current)
            except NotUnderstood as fault:
                raise NotUnderstood(f"{file}, line {number}: {fault}") from fault

    def _read_line(self, line: str, current: str) -> str:
        """Adds what the line says. Returns the topic whose settings follow in the next lines, or ""."""
        if not line.strip() or line.startswith(_NOISE) or _PARTITION.fullmatch(line):
            return ""
        if (found := _ROW.fullmatch(line)) is not None and current:
            if _OWN in found["synonyms"]:
                self._add_configs(current, {found["key"]: found["value"]})
            return current
        if (found := _DYNAMIC.fullmatch(line)) is not None:
            self._replace_configs(found["name"], {})
            return found["name"]
        if (found := _CONFIGS.fullmatch(line)) is not None:
            self._replace_configs(found["name"], _parse_configs(found["name"], found["configs"]))
        elif (found := _TOPIC.fullmatch(line)) is not None:
            self._add_topic(found["name"], int(found["partitions"]), _parse_configs(found["name"], found["configs"]))
        else:
            raise NotUnderstood(f"neither kafka-topics nor kafka-configs prints such a line: {line.strip()[:100]!r}")
        return ""

    def _add_topic(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        topic = self.topics.setdefault(name, DescribedTopic())
        topic.partitions = partitions
        if name not in self._exact:
            topic.configs = configs

    def _replace_configs(self, name: str, configs: dict[str, str]) -> None:
        self._exact.add(name)
        self.topics.setdefault(name, DescribedTopic()).configs = configs

    def _add_configs(self, name: str, configs: Mapping[str, str]) -> None:
        _check_configs(name, configs)
        known = self.topics[name].configs
        assert known is not None
        known.update(configs)


def _parse_configs(name: str, text: str) -> dict[str, str]:
    pairs = {}
    for item in _NEXT_KEY.split(text.strip()) if text.strip() else ():
        key, equals, value = item.partition("=")
        if not equals:
            raise NotUnderstood(f"topic {name}: KEY=VALUE expected, found {item[:100]!r}")
        pairs[key] = value
    _check_configs(name, pairs)
    return pairs


def _check_configs(name: str, configs: Mapping[str, str]) -> None:
    for key, text in configs.items():
        if key not in TOPIC_KEYS:
            hint = nearest(key, TOPIC_KEYS)
            raise NotUnderstood(f"topic {name}: {key} is no topic setting{f'; {hint} is' if hint else ''}")
        try:
            TOPIC_KEYS[key].value_of(text)
        except ValueError:
            raise NotUnderstood(f"topic {name}: {key}: expected {TOPIC_KEYS[key].expected}, found {text!r}") from None
