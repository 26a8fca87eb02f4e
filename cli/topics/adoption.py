"""Which topics get which settings by `stepdown topics adopt`, and what each change would delete."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Protocol

from ...storage.files.files import Files
from .kafka_tool_output import ToolOutput

if TYPE_CHECKING:
    from ...client.operations.outcome import Outcome
    from ...storage.compaction.deletion_preview import DeletionPreview
    from ...storage.log.log_config import LogConfig
    from ...storage.zookeeper.kafka_cluster import KafkaCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTopic:
    """A topic of the broker or directory. `is_unknown`: its settings are not known."""

    partitions: int
    is_unknown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The settings that a topic gets; all others have the broker's defaults."""

    topic: str
    configs: Mapping[str, str]


class TopicPlace(Protocol):
    """The place of topics: a running broker, or directories at rest."""

    def topics(self) -> Mapping[str, KnownTopic]: ...

    def log_config_of(self, topic: str, configs: Mapping[str, str]) -> LogConfig:
        """The configuration that the logs of a topic with these settings would have."""

    def local_folders(self, topic: str) -> Sequence[str]:
        """Returns the folders of its partitions that can be read on this machine."""

    def adopt(self, adoption: Adoption) -> Outcome:
        """Replaces the settings of a topic."""

    def apply_internal_partition_counts(self, described: Mapping[str, int]) -> Sequence[str]:
        """Returns a line for each internal topic whose number of partitions differs from the described one.

        Topics of directories get that number, unless these are only read; those of a running broker keep theirs.
        """

    def adopt_or_report_access(self, cluster: KafkaCluster) -> Sequence[str]:
        """Adds users, access rules and quotas of ZooKeeper if possible; returns lines on what is added, or why not."""


def select_unknown_topics(topics: Mapping[str, KnownTopic], patterns: Sequence[str]) -> list[str]:
    """Returns the topics without known settings that match a pattern such as `audit-*`; all without patterns."""
    unknown = sorted(name for name, topic in topics.items() if topic.is_unknown)
    return match_names(unknown, patterns) if patterns else unknown


def match_names(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """Returns the names that match one of the patterns."""
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def plan_adoptions(names: Iterable[str], configs: Mapping[str, str], described: ToolOutput | None) -> list[Adoption]:
    """Returns the settings for each topic: `configs`, or with `described` the described ones of those it names."""
    if described is None:
        return [Adoption(topic=name, configs=configs) for name in names]
    found = {name: described.topics[name].configs for name in names if name in described.topics}
    return [Adoption(topic=name, configs=given) for name, given in found.items() if given is not None]


def describe_missing_partitions(present: Mapping[str, KnownTopic], tool_output: ToolOutput) -> list[str]:
    """Returns a line for each topic in `tool_output` that has fewer partitions here, or is not here at all."""
    lines = []
    for name, told in tool_output.topics.items():
        here = present[name].partitions if name in present else 0
        if told.partitions is not None and here < told.partitions:
            lines.append(f"{name}: {told.partitions} partitions were described, {here} are here")
    return lines


def preview_deletions(place: TopicPlace, adoption: Adoption) -> DeletionPreview | None:
    """Counts what the settings would delete at once; None without folders here. Raises: DiskFault, CorruptRecord."""
    from ...storage.compaction.deletion_preview import DeletionPreview, preview_deletion

    config, folders = place.log_config_of(adoption.topic, adoption.configs), place.local_folders(adoption.topic)
    files, now_ms = Files(read_only=True), int(time.time() * 1000)
    found = [preview_deletion(files, folder, config, now_ms) for folder in folders]
    return sum(found, DeletionPreview()) if found else None
