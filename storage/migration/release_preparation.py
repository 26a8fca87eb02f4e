"""Adapts metadata to a release of Kafka: replaces settings that it refuses or misreads.

A single setting out of range keeps Kafka from starting ("Error starting LogManager"). Sources: `LogConfig` of Kafka
3.9.1 and 4.4.0 (KIP-1030: segment.bytes; KIP-724, KIP-937: settings that 4.0 removed), `MetadataVersion`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...config import TOPIC_KEYS
from ..metadata.cluster_state import HIGHEST_METADATA_VERSION, METADATA_VERSION, ClusterState

INDEX_BYTES = "segment.index.bytes"
LEAST: Mapping[str, int] = {
    "segment.ms": 1,
    "flush.messages": 1,
    INDEX_BYTES: 12,
    "retention.ms": -1,
    "local.retention.ms": -2,
    "local.retention.bytes": -2,
}
"""The least values. An entry of a time index has 12 bytes, so Kafka cannot use 4, although it accepts that setting."""
LEAST_IN_4: Mapping[str, int] = {**LEAST, "segment.bytes": 1 << 20}
TIMESTAMP_DIFFERENCE = "message.timestamp.difference.max.ms"
TIMESTAMP_LIMITS = ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms")
REMOVED_IN_4 = ("message.format.version", "message.downconversion.enable", TIMESTAMP_DIFFERENCE)
LOWEST_IN_4 = 7
PROVIDED = "${"
OF_STEPDOWN = "stepdown."


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release of Kafka: its levels of metadata.version, the least values of settings, and the settings it removed.

    `refuses_unknown`: a topic with a setting that the release does not know cannot be changed (INVALID_CONFIG).
    """

    name: str
    lowest_level: int
    highest_level: int
    least: Mapping[str, int]
    removed: tuple[str, ...] = ()
    refuses_unknown: bool = True


RELEASES = {
    release.name: release
    for release in (
        Release(name="3.9", lowest_level=1, highest_level=21, least=LEAST),
        Release(name="4.0", lowest_level=LOWEST_IN_4, highest_level=25, least=LEAST_IN_4, removed=REMOVED_IN_4),
        Release(
            name="4.4",
            lowest_level=LOWEST_IN_4,
            highest_level=33,
            least=LEAST_IN_4,
            removed=REMOVED_IN_4,
            refuses_unknown=False,
        ),
    )
}


class MetadataTooNew(ValueError):
    """The metadata.version is above those of the release, and cannot be lowered."""


@dataclass(slots=True, kw_only=True)
class ReleasePreparation:
    """Adapts a state to `release`; it adds a line to `lines` for each changed setting."""

    release: Release
    lines: list[str] = field(default_factory=list)

    def prepare(self, state: ClusterState) -> ClusterState:
        """The adapted state. Raises: MetadataTooNew."""
        return replace(
            state.copy(),
            features=self._adapt_features(state),
            topics={
                name: replace(topic, configs=self.adapt_topic_configs(name, topic.configs))
                for name, topic in state.topics.items()
            },
            cluster_configs=self.adapt_broker_configs("all brokers", state.cluster_configs),
            configs_of_brokers={
                broker_id: self.adapt_broker_configs(f"broker {broker_id}", configs)
                for broker_id, configs in state.configs_of_brokers.items()
            },
        )

    def _adapt_features(self, state: ClusterState) -> dict[str, int]:
        level, release = state.metadata_version, self.release
        if level > release.highest_level:
            raise MetadataTooNew(
                f"metadata.version is {level}, and Kafka {release.name} opens at most {release.highest_level}; "
                "a level cannot be lowered"
            )
        if level >= release.lowest_level:
            return state.features
        self.lines.append(f"metadata.version {level} becomes {HIGHEST_METADATA_VERSION}")
        return {**state.features, METADATA_VERSION: HIGHEST_METADATA_VERSION}

    def adapt_topic_configs(self, owner: str, configs: Mapping[str, str]) -> dict[str, str]:
        """The settings of a topic, without those that the release does not know, and within its limits."""
        return self._adapt_settings(owner, configs, {name: name for name in TOPIC_KEYS})

    def adapt_broker_configs(self, owner: str, configs: Mapping[str, str]) -> dict[str, str]:
        """The same for dynamic settings of brokers. Values that refer to a config provider (KIP-421) stay unchanged."""
        names = {key.synonyms[0]: name for name, key in TOPIC_KEYS.items() if key.synonyms}
        provided = {name: value for name, value in configs.items() if PROVIDED in value}
        return (
            self._adapt_settings(owner, {name: configs[name] for name in configs if name not in provided}, names)
            | provided
        )

    def _adapt_settings(self, owner: str, configs: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
        """`names` maps the name of each setting to that of the topic setting."""
        settled: dict[str, str] = {}
        for name, value in configs.items():
            topic_setting = names.get(name, name)
            if self._is_unknown_setting(topic_setting):
                self.lines.append(f"{owner}: {name}={value} is left out, Kafka {self.release.name} does not know it")
                settled.update(self._replacing_settings(owner, name, value, configs))
            elif topic_setting in self.release.least and not _is_whole_number(value):
                self.lines.append(f"{owner}: {name}={value} is left out, it is no whole number")
            else:
                settled[name] = self._raise_to_least(owner, name, value, topic_setting)
        return settled

    def _is_unknown_setting(self, name: str) -> bool:
        return name in self.release.removed or (self.release.refuses_unknown and name.startswith(OF_STEPDOWN))

    def _replacing_settings(
        self, owner: str, name: str, value: str, configs: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Yields the two limits that replaced the setting of the timestamp difference."""
        if not name.endswith(TIMESTAMP_DIFFERENCE):
            return
        prefix = name.removesuffix(TIMESTAMP_DIFFERENCE)
        for limit in (prefix + each for each in TIMESTAMP_LIMITS):
            if limit not in configs:
                self.lines.append(f"{owner}: {limit}={value} in its place")
                yield limit, value

    def _raise_to_least(self, owner: str, name: str, value: str, topic_setting: str) -> str:
        least = self.release.least.get(topic_setting)
        if least is None or int(value) >= least:
            return value
        self.lines.append(f"{owner}: {name}={value} becomes {least}, the least that Kafka {self.release.name} takes")
        return str(least)


def raise_index_bytes(
    owner: str, name: str, configs: Mapping[str, str], index_bytes: int, lines: list[str]
) -> dict[str, str]:
    """The settings with `name` raised to at least `index_bytes`, which an index on a disk needs.

    When Kafka opens a log, it resizes the indexes of the last segment to this setting. It does not start if there are
    more entries (`LogSegment.resizeIndexes`, `AbstractIndex.resize`), or if a recovery needs more
    (`LogSegment.recover`, `OffsetIndex.append`).
    """
    value = configs.get(name)
    if value is None or not _is_whole_number(value) or int(value) >= index_bytes:
        return dict(configs)
    lines.append(f"{owner}: {name}={value} becomes {index_bytes}, which its indexes on the disks may need")
    return {**configs, name: str(index_bytes)}


def _is_whole_number(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def describe_partitions_without_replicas(state: ClusterState) -> Iterator[str]:
    """Yields a line for each topic with partitions of unknown replicas: in Kafka these have no leader."""
    for name, topic in state.topics.items():
        count = sum(not record.replicas for record in topic.replicas)
        if count:
            yield f"{name}: {count} of {topic.partitions} partitions have no replica here and no leader in Kafka"
