"""The topics of a running broker, as `stepdown topics adopt` sees and changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...broker.metadata.configuration import log_config_of
from ...broker.metadata.unknown_settings import MARKER
from ...client.operation import ask
from ...client.operations.outcome import Outcome
from ...client.operations.topics import (
    TOPIC_RESOURCE,
    TOPIC_SOURCE,
    describe_topics,
    replace_topic_configs,
    topic_configs,
)
from ...config import BROKER_KEYS, TOPIC_KEYS, Layers, Source, topic_settings
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ...protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from ...storage.log.log_config import LogConfig
from ...storage.zookeeper.kafka_cluster import KafkaCluster
from ..support.command_client import CommandClient
from .adoption import Adoption, KnownTopic

TOPICS_A_REQUEST = 100


class RunningTopics:
    """The topics of a running broker. Records can be counted only if its folders are on this machine."""

    def __init__(self, client: CommandClient) -> None:
        self._client = client
        self._folders: dict[str, list[str]] | None = None

    def topics(self) -> Mapping[str, KnownTopic]:
        found = [topic for topic in self._client.run(describe_topics()) if not topic["error"]]
        names = [topic["name"] for topic in found]
        unknown = {
            name
            for at in range(0, len(names), TOPICS_A_REQUEST)
            for name in self._find_topics_with_unknown_settings(names[at:][:100])
        }
        return {
            topic["name"]: KnownTopic(partitions=len(topic["partitions"]), is_unknown=topic["name"] in unknown)
            for topic in found
        }

    def _find_topics_with_unknown_settings(self, names: Sequence[str]) -> list[str]:
        rows = self._client.run(topic_configs(names))
        return [name for name in names if any(_is_marker(row) for row in rows.get(name, ()))]

    def log_config_of(self, topic: str, configs: Mapping[str, str]) -> LogConfig:
        without_own, defaults = self._read_defaults(topic)
        return log_config_of(topic_settings(defaults, {**without_own, **configs}))

    def _read_defaults(self, topic: str) -> tuple[dict[str, str], Layers]:
        """Returns the topic's defaults: settings without a broker key, and the broker keys that are set.

        A synonym such as log.retention.hours has its own unit, so a broker key is parsed as a broker does.
        """
        resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=topic, configuration_keys=None)
        request = DescribeConfigsRequest(resources=(resource,), include_synonyms=True)
        (result,) = self._client.run(ask(request, within=(1, 4))).results
        without_own: dict[str, str] = {}
        texts: dict[Source, dict[str, str]] = {source: {} for source in Source}
        for row in result.configs:
            known = [each for each in row.synonyms if each.name in BROKER_KEYS and each.value is not None]
            for each in known:
                texts[Source(each.source)][each.name] = each.value or ""
            if not known and row.config_source != TOPIC_SOURCE and row.name in TOPIC_KEYS and row.value is not None:
                without_own[row.name] = row.value
        return without_own, Layers(
            static=texts[Source.STATIC_BROKER],
            cluster=texts[Source.DYNAMIC_DEFAULT_BROKER],
            broker=texts[Source.DYNAMIC_BROKER],
        )

    def local_folders(self, topic: str) -> Sequence[str]:
        if self._folders is None:
            self._folders = self._find_local_folders()
        return self._folders.get(topic, [])

    def _find_local_folders(self) -> dict[str, list[str]]:
        response = self._client.run(ask(DescribeLogDirsRequest(topics=None)))
        found: dict[str, list[str]] = {}
        for result in response.results:
            for topic in result.topics:
                paths = [f"{result.log_dir}/{topic.name}-{each.partition_index}" for each in topic.partitions]
                found.setdefault(topic.name, []).extend(path for path in paths if Path(path).is_dir())
        return found

    def adopt(self, adoption: Adoption) -> Outcome:
        return self._client.run(replace_topic_configs(adoption.topic, adoption.configs))

    def adopt_or_report_access(self, cluster: KafkaCluster) -> Sequence[str]:
        """Adds nothing, since password keys cannot be sent to a broker; returns a line if there is something to add."""
        if not (cluster.acls or cluster.passwords or cluster.quotas):
            return []
        return ["users, access rules and quotas of ZooKeeper are not taken: stop the broker and pass --log-dir"]

    def apply_internal_partition_counts(self, described: Mapping[str, int]) -> Sequence[str]:
        """Only reports differing counts: groups and transactions are already placed by the present ones."""
        found = self._client.run(describe_topics(list(described))) if described else []
        present = {topic["name"]: len(topic["partitions"]) for topic in found if not topic["error"]}
        return [
            f"{name}: {described[name]} partitions were described, {count} are here: stop the broker and pass --log-dir"
            for name, count in present.items()
            if count != described[name]
        ]


def _is_marker(row: Mapping[str, object]) -> bool:
    return row["name"] == MARKER and row["value"] == "true"
