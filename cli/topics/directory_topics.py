"""The topics of log directories at rest, as `stepdown topics adopt` sees and changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...broker.broker import Broker
from ...broker.metadata.configuration import log_config
from ...client.operations.outcome import Outcome
from ...protocol.errors import ApiError, error_name
from ...storage.log.log_config import LogConfig
from .adoption import Adoption, KnownTopic

LOCKED_HINT = "A broker that has them open is asked with --bootstrap-server instead of --log-dir."


class DirectoryTopics:
    """The topics of a broker that has its directories open and is not started."""

    def __init__(self, broker: Broker) -> None:
        self._topics = broker.topics

    def topics(self) -> Mapping[str, KnownTopic]:
        return {
            name: KnownTopic(partitions=len(topic.partitions), is_unknown=topic.settings.stepdown_settings_unknown)
            for name, topic in self._topics.cluster.topics.items()
        }

    def log_config(self, topic: str, configs: Mapping[str, str]) -> LogConfig:
        return log_config(self._topics.configuration.topic_settings(configs))

    def folders(self, topic: str) -> Sequence[str]:
        return [each.log.directory for each in self._topics.cluster.topics[topic].partitions.values() if each.is_here]

    def adopt(self, adoption: Adoption) -> Outcome:
        try:
            self._topics.configure(adoption.topic, adoption.configs)
        except ApiError as fault:
            return Outcome(name=adoption.topic, error=error_name(fault.code), message=fault.message or "")
        return Outcome(name=adoption.topic)
