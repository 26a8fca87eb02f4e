"""The topics of log directories at rest, found by reading only: no lock, no recovery, no take-over.

Topics that a start would take over are included; folders that it would set aside are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

from ...broker.metadata.configuration import Configuration, log_config_of
from ...broker.metadata.topic_loading import topic_of_folders
from ...broker.metadata.topic_rules import INTERNAL_TOPICS
from ...broker.metadata.unknown_settings import MARKER
from ...client.operations.outcome import Outcome
from ...config import StartupSettings
from ...config.settings import BrokerSettings
from ...protocol.errors import DiskFault
from ...storage.directories.broker_identity import identity_from_settings, merge_identity
from ...storage.directories.directory_check import check_is_log_directory, has_broker_files
from ...storage.directories.log_directory import log_folders
from ...storage.directories.meta_properties import FILE_NAME, read_meta_properties
from ...storage.files.files import Files
from ...storage.files.partition_metadata import read_topic_id
from ...storage.log.log_config import LogConfig
from ...storage.metadata.metadata_store import MetadataStore
from ...storage.zookeeper.kafka_cluster import KafkaCluster
from ..support.failures import CommandFailure
from .adoption import Adoption, KnownTopic
from .directory_topics import describe_partition_counts, find_partition_changes
from .kafka_tool_output import DescribedTopic, ToolOutput
from .zookeeper_adoption import add_access

ALL_DIRECTORIES_HINT = (
    "Name all log directories of the broker. Where these partitions are lost or another broker's, start `stepdown "
    "serve` over the directories once, which goes on with what is there, and try again after that."
)
NAMES_SHOWN = 5


class DirectoryReading:
    """The topics that a start would find in the directories of these settings."""

    def __init__(self, loaded: StartupSettings, described: ToolOutput | None = None) -> None:
        """`described`: the topics of the old cluster; before the first start, all their partitions must be here.

        Raises: CommandFailure when the directories cannot be read, or folders of partitions are missing.
        """
        settings = loaded.settings
        self._files = Files(read_only=True)
        directories = [self._files.absolute(path) for path in settings.log_dirs]
        of_metadata = [self._files.absolute(path) for path in [settings.metadata_log_dir] if path]
        try:
            self._check_directories(directories)
            self.store = MetadataStore.read(self._files, list(dict.fromkeys([*of_metadata, *directories])))
            self._configuration = Configuration(loaded.layers, self.store, self.store.node_id)
            self._check_identity(settings, directories)
            self._folders = self._find_folders(directories)
            self._add_topics_of_folders()
        except DiskFault as fault:
            raise CommandFailure(str(fault)) from fault
        self._check_nothing_is_missing({} if described is None or not self.store.is_new else described.topics)

    def _check_directories(self, directories: Sequence[str]) -> None:
        """Raises DiskFault for a missing directory: a start would make it, but here the path must be wrong."""
        for directory in directories:
            if not self._files.exists(directory):
                raise DiskFault(f"{directory}: there is no such directory; is its disk mounted?")
            check_is_log_directory(self._files, directory)
        if not any(has_broker_files(self._files, directory) for directory in directories):
            raise DiskFault(f"no broker has used {' or '.join(directories)} as a log directory")

    def _check_identity(self, settings: BrokerSettings, directories: Sequence[str]) -> None:
        known = identity_from_settings(settings)
        for directory in directories:
            meta = read_meta_properties(self._files, directory)
            if meta is not None:
                known = merge_identity(known, meta, f"{directory}/{FILE_NAME}")

    def _find_folders(self, directories: Sequence[str]) -> dict[str, dict[int, str]]:
        found: dict[str, dict[int, str]] = {}
        for directory in directories:
            for path, name in log_folders(self._files, directory):
                if not name.suffix:
                    found.setdefault(name.topic, {}).setdefault(name.partition, path)
        return found

    def _add_topics_of_folders(self) -> None:
        """Adds topics that only have folders to the state, and leaves out folders that a start would set aside."""
        topics = self.store.state.topics
        for name, folders in self._folders.items():
            ids = {index: read_topic_id(self._files, path) for index, path in folders.items()}
            if name not in topics and (self.store.is_new or None in ids.values()):
                known = [topic_id for topic_id in ids.values() if topic_id is not None]
                topic_id = known[0] if known and self.store.is_new else uuid4()
                topics[name] = topic_of_folders(name, topic_id, folders, self._configuration, self.store.node_id)
            wanted, partitions = ({None, topics[name].topic_id}, topics[name].partitions) if name in topics else ((), 0)
            self._folders[name] = {
                index: path for index, path in folders.items() if index < partitions and ids[index] in wanted
            }

    def _check_nothing_is_missing(self, described: Mapping[str, DescribedTopic]) -> None:
        missing = [*self._list_missing_of_state(), *self._list_missing_of_description(described)]
        if missing:
            more = ", …" if len(missing) > NAMES_SHOWN else ""
            raise CommandFailure(
                f"{len(missing)} partitions have no folder in the directories given "
                f"({', '.join(missing[:NAMES_SHOWN])}{more}); nothing was changed",
                ALL_DIRECTORIES_HINT,
            )

    def _list_missing_of_state(self) -> Iterator[str]:
        for name, stored in self.store.state.topics.items():
            folders = self._folders.get(name, {})
            for index, record in enumerate(stored.replicas):
                if self.store.node_id in record.replicas and index not in folders:
                    yield f"{name}-{index}"

    def _list_missing_of_description(self, described: Mapping[str, DescribedTopic]) -> Iterator[str]:
        """Yields the described partitions after the last one here: a start would take the topic over without them."""
        for name, stored in self.store.state.topics.items():
            told = described[name].partitions if name in described and name not in INTERNAL_TOPICS else None
            for index in range(stored.partitions, told or 0):
                yield f"{name}-{index}"

    def topics(self) -> Mapping[str, KnownTopic]:
        return {
            name: KnownTopic(partitions=stored.partitions, is_unknown=stored.configs.get(MARKER) == "true")
            for name, stored in self.store.state.topics.items()
        }

    def log_config_of(self, topic: str, configs: Mapping[str, str]) -> LogConfig:
        return log_config_of(self._configuration.topic_settings(configs))

    def local_folders(self, topic: str) -> Sequence[str]:
        return list(self._folders.get(topic, {}).values())

    def adopt(self, adoption: Adoption) -> Outcome:
        """Refused, since nothing is written."""
        return Outcome(name=adoption.topic, error="INVALID_REQUEST", message="the directories are only read")

    def adopt_or_report_access(self, cluster: KafkaCluster) -> Sequence[str]:
        """Changes nothing, and returns the lines of a real run."""
        return add_access(self.store.state.copy(), cluster)

    def apply_internal_partition_counts(self, described: Mapping[str, int]) -> Sequence[str]:
        """Changes nothing; returns the lines of a real run. Raises: CommandFailure if a folder contradicts a count."""
        present = self.store.state.topics
        return describe_partition_counts(present, find_partition_changes(present, described))
