"""The topics of log directories at rest, as `stepdown topics adopt` sees and changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...broker.broker import Broker
from ...broker.metadata.configuration import log_config_of
from ...client.operations.outcome import Outcome
from ...protocol.errors import ApiError, error_name
from ...protocol.plural import plural
from ...storage.log.log_config import LogConfig
from ...storage.metadata.cluster_state import StoredTopic
from ...storage.metadata.partition_record import NO_LEADER, PartitionRecord
from ...storage.zookeeper.kafka_cluster import KafkaCluster
from ..support.failures import CommandFailure
from .adoption import Adoption, KnownTopic
from .zookeeper_adoption import add_access

LOCKED_HINT = "A broker that has them open is asked with --bootstrap-server instead of --log-dir."


class DirectoryTopics:
    """The topics of a broker that has opened its directories and is not started."""

    def __init__(self, broker: Broker) -> None:
        self._topics = broker.topics

    def topics(self) -> Mapping[str, KnownTopic]:
        return {
            name: KnownTopic(partitions=len(topic.partitions), is_unknown=topic.settings.stepdown_settings_unknown)
            for name, topic in self._topics.cluster.topics.items()
        }

    def log_config_of(self, topic: str, configs: Mapping[str, str]) -> LogConfig:
        return log_config_of(self._topics.configuration.topic_settings(configs))

    def local_folders(self, topic: str) -> Sequence[str]:
        return [each.log.directory for each in self._topics.cluster.topics[topic].partitions.values() if each.is_here]

    def adopt(self, adoption: Adoption) -> Outcome:
        try:
            self._topics.configure_topic(adoption.topic, adoption.configs)
        except ApiError as fault:
            return Outcome(name=adoption.topic, error=error_name(fault.code), message=fault.message or "")
        return Outcome(name=adoption.topic)

    def apply_internal_partition_counts(self, described: Mapping[str, int]) -> Sequence[str]:
        """Sets the counts and returns the changes. Raises: CommandFailure if a folder contradicts a count."""
        store = self._topics.store
        present = dict(store.state.topics)
        changed = find_partition_changes(present, described)
        if changed:
            store.state.topics |= changed
            store.save()
            store.write_snapshot()  # in the metadata log, fewer partitions appear as a removed and recreated topic
        return describe_partition_counts(present, changed)

    def adopt_or_report_access(self, cluster: KafkaCluster) -> Sequence[str]:
        with self._topics.store.change() as state:
            return add_access(state, cluster)


def find_partition_changes(present: Mapping[str, StoredTopic], counts: Mapping[str, int]) -> dict[str, StoredTopic]:
    """Returns the topics whose partition count changes. Raises: CommandFailure if a folder contradicts a count."""
    return {
        name: with_partition_count(name, present[name], count)
        for name, count in counts.items()
        if name in present and present[name].partitions != count
    }


def describe_partition_counts(before: Mapping[str, StoredTopic], after: Mapping[str, StoredTopic]) -> list[str]:
    """Returns a line for each topic of `after`, with both partition counts."""
    return [
        f"{name}: {plural(topic.partitions, 'partition')} instead of {before[name].partitions}"
        for name, topic in after.items()
    ]


def with_partition_count(name: str, topic: StoredTopic, count: int) -> StoredTopic:
    """Returns the topic with `count` partitions; added ones have no replica here.

    Raises: CommandFailure if a partition that would be removed has a folder here.
    """
    surplus = [index for index in range(count, topic.partitions) if topic.replicas[index].replicas]
    if surplus:
        raise CommandFailure(
            f"{name} has {plural(count, 'partition')} by the file, but a folder of partition {surplus[-1]} is here",
            "Groups and transactions are found by that number: find out which of both is the old cluster's.",
        )
    absent = PartitionRecord(replicas=(), isr=(), leader=NO_LEADER)
    added = (absent,) * (count - topic.partitions)
    return replace(topic, replicas=topic.replicas[:count] + added)
