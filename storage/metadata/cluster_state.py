"""The metadata of a cluster: topics and their configs, dynamic configs, producer ids, quotas, access rules, passwords.

Like Kafka, stepdown keeps them as records in `__cluster_metadata-0`: `metadata_replay.py` builds the state from
records, `state_difference.py` makes records from the changes of a state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any
from uuid import UUID

from ...protocol.acls import Acl
from ...protocol.metadata_log import DelegationTokenRecord
from ...protocol.scram import ScramCredential
from .partition_record import PartitionRecord

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, name or None for the default), ordered by type."""

ConfigResource = tuple[int, str]
"""Resource type and name."""

METADATA_VERSION = "metadata.version"
LOWEST_METADATA_VERSION = 1  # 3.0-IV1, of a log that names none
HIGHEST_METADATA_VERSION = 21  # 3.9-IV0: Kafka 3.9 and 4.x both open it

REPLACED = ("acls", "scram_credentials")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTopic:
    """A stored topic, with a record for each partition; `configs` are only the values that were set for the topic."""

    topic_id: UUID
    replicas: tuple[PartitionRecord, ...]
    configs: Mapping[str, str] = field(default_factory=dict)

    @property
    def partitions(self) -> int:
        return len(self.replicas)


@dataclass(slots=True, kw_only=True)
class ClusterState:
    """The whole state. It is changed through `MetadataStore`.

    The values of its dictionaries are immutable: a change puts another value in their place. The mappings named in
    REPLACED are immutable too, and are replaced as a whole.

    `other_configs`: the configs of groups and client metrics. `registrations`: the broker epochs of brokers that a
    controller of Kafka has registered.
    """

    topics: dict[str, StoredTopic] = field(default_factory=dict)
    cluster_configs: dict[str, str] = field(default_factory=dict)
    configs_of_brokers: dict[int, dict[str, str]] = field(default_factory=dict)
    other_configs: dict[ConfigResource, dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0
    client_quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    acls: Mapping[Acl, UUID] = field(default_factory=dict)
    """The access rules and the id of each; replaced as a whole."""
    scram_credentials: Mapping[tuple[str, str], ScramCredential] = field(default_factory=dict)
    """By user and mechanism; replaced as a whole."""
    features: dict[str, int] = field(default_factory=dict)
    delegation_tokens: dict[str, DelegationTokenRecord] = field(default_factory=dict)
    zk_migration_state: int = 0
    registrations: dict[int, int] = field(default_factory=dict)

    @property
    def metadata_version(self) -> int:
        return self.features.get(METADATA_VERSION, LOWEST_METADATA_VERSION)

    def copy(self) -> "ClusterState":
        """A copy that does not change with this one."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in REPLACED}
        copies: dict[str, Any] = {name: dict(value) for name, value in values.items() if isinstance(value, dict)}
        return replace(self, **copies)
