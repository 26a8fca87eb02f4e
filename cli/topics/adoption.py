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
    """A topic as the broker or directory has it; `is_unknown`: its settings are not known."""

    partitions: int
    is_unknown: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The settings that a topic gets; all others are the broker's."""

    topic: str
    configs: Mapping[str, str]


class TopicPlace(Protocol):
    """Where topics are: a running broker, or a directory at rest."""

    def topics(self) -> Mapping[str, KnownTopic]: ...

    def log_config_of(self, topic: str, configs: Mapping[str, str]) -> LogConfig:
        """What the logs of a topic with these settings would act on."""

    def local_folders(self, topic: str) -> Sequence[str]:
        """The folders of its partitions that can be read from here."""

    def adopt(self, adoption: Adoption) -> Outcome:
        """Replaces the settings of a topic."""

    def adopt_or_report_internal_partition_counts(self, counts: Mapping[str, int]) -> Sequence[str]:
        """A line for each internal topic that has another number of partitions than `counts` says.

        Topics of log directories get that number, unless it is a dry run; those of a running broker keep theirs.
        """

    def adopt_or_report_access(self, cluster: KafkaCluster) -> Sequence[str]:
        """What of users, access rules and quotas of ZooKeeper is added, in lines."""


def select_unknown_topics(topics: Mapping[str, KnownTopic], patterns: Sequence[str]) -> list[str]:
    """The topics without known settings whose name matches a pattern such as `orders` or `audit-*`; all without one."""
    unknown = sorted(name for name, topic in topics.items() if topic.is_unknown)
    return match_names(unknown, patterns) if patterns else unknown


def match_names(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The names that one of the patterns stands for."""
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def plan_adoptions(names: Iterable[str], configs: Mapping[str, str], described: ToolOutput | None) -> list[Adoption]:
    """What each topic gets: what a file says of it, else `configs`. Of topics that a file does not name, nothing."""
    if described is None:
        return [Adoption(topic=name, configs=configs) for name in names]
    found = {name: described.topics[name].configs for name in names if name in described.topics}
    return [Adoption(topic=name, configs=given) for name, given in found.items() if given is not None]


def describe_missing_partitions(present: Mapping[str, KnownTopic], tool_output: ToolOutput) -> list[str]:
    """A line for each topic of which the file names more partitions than there are, or that is not there at all."""
    lines = []
    for name, told in tool_output.topics.items():
        here = present[name].partitions if name in present else 0
        if told.partitions is not None and here < told.partitions:
            lines.append(f"{name}: {told.partitions} partitions were described, {here} are here")
    return lines


def preview_deletions(place: TopicPlace, adoption: Adoption) -> DeletionPreview | None:
    """What the settings would delete at once; None where no folder can be read. Raises: DiskFault, CorruptRecord."""
    from ...storage.compaction.deletion_preview import DeletionPreview, preview_deletion

    config, folders = place.log_config_of(adoption.topic, adoption.configs), place.local_folders(adoption.topic)
    files, now_ms = Files(read_only=True), int(time.time() * 1000)
    found = [preview_deletion(files, folder, config, now_ms) for folder in folders]
    return sum(found, DeletionPreview()) if found else None
