"""The topics of log directories at rest, as `stepdown topics adopt` sees and changes them.

The directories are opened and closed in order as a broker does, with its locks, recovery and take-over, but nothing is
served and nothing periodic runs, so that nothing is deleted either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from ...broker.broker import Broker
from ...broker.metadata.configuration import log_config
from ...client.operations.outcome import Outcome
from ...config import ConfigError, load
from ...protocol.errors import ApiError, DiskFault, error_name
from ...storage.log.log_config import LogConfig
from ..support.failures import EXIT_BAD_USAGE, CommandFailed
from .adoption import Adoption, KnownTopic

LOCKED_HINT = "A broker that has them open is asked with --bootstrap-server instead of --log-dir."


class DirectoryTopics:
    """Open between `with` and its end. Raises: CommandFailed when the directories cannot be opened."""

    def __init__(self, log_dirs: Sequence[str], properties: str | None) -> None:
        try:
            loaded = load(properties, overrides=[f"log.dirs={','.join(log_dirs)}"])
        except ConfigError as fault:
            raise CommandFailed(str(fault), "", EXIT_BAD_USAGE) from fault
        try:
            self._broker = Broker(loaded.settings, loaded.layers)
            with self._broker.or_let_go():
                self._broker.topics.load()
        except DiskFault as fault:
            raise CommandFailed(str(fault), LOCKED_HINT) from fault
        self._topics = self._broker.topics

    def __enter__(self) -> DirectoryTopics:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._broker.workers.shutdown()
        self._broker.spare_descriptors.close()
        self._broker.log_manager.shutdown()

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
