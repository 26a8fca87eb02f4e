"""The plan of a migration: what it will write, and what a person should know before."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

from ...protocol.quorum_records import KRaftVersionRecord, VersionRange, Voter, VoterEndpoint, VotersRecord
from ...protocol.schema import NO_UUID
from ..files.partition_metadata import encode_uuid
from ..metadata.cluster_state import ClusterState, StoredTopic
from ..metadata.partition_record import PartitionRecord
from .directory_survey import PlannedBroker, RefusedDirectory
from .server_properties import CONTROLLER

MOST_VOTERS = 3
HIGHEST_KRAFT_VERSION = 1


@dataclass(slots=True, kw_only=True)
class MigrationPlan:
    """`state`: Kafka's metadata, still without the ids of log directories.

    `stops`: reasons not to apply the plan. `source`: where the state was read from. `digest`: the hash of the plan's
    file. With `kraft_version` 1 the metadata name the voters (KIP-853).
    """

    release: str
    cluster_id: str
    made_ms: int
    source: str = ""
    state: ClusterState = field(default_factory=ClusterState)
    brokers: dict[int, PlannedBroker] = field(default_factory=dict)
    voters: tuple[int, ...] = ()
    kraft_version: int = 0
    stops: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    digest: str = ""

    def state_with_directories(self) -> ClusterState:
        """The state with the directory of each replica."""
        by_broker = {broker_id: _directories_by_log(broker) for broker_id, broker in self.brokers.items()}
        firsts = {broker_id: broker.directories[0].directory_id for broker_id, broker in self.brokers.items()}
        state = self.state.copy()
        for name, topic in self.state.topics.items():
            located = (_with_directories(name, n, each, by_broker, firsts) for n, each in enumerate(topic.replicas))
            state.topics[name] = replace(topic, replicas=tuple(located))
        return state

    def voter_records(self) -> list[Any]:
        """The control records that name the voters in a snapshot; none with `kraft_version` 0."""
        if self.kraft_version == 0:
            return []
        voters = [_voter(self.brokers[broker_id]) for broker_id in self.voters]
        return [KRaftVersionRecord(kraft_version=self.kraft_version), VotersRecord(voters=voters)]

    def topic_id(self, name: str) -> UUID | None:
        topic: StoredTopic | None = self.state.topics.get(name)
        return None if topic is None else topic.topic_id


def _voter(broker: PlannedBroker) -> Voter:
    return Voter(
        voter_id=broker.broker_id,
        voter_directory_id=broker.directories[0].directory_id,
        endpoints=(VoterEndpoint(name=CONTROLLER, host=broker.host, port=broker.controller_port),),
        kraft_version_feature=VersionRange(max_supported_version=HIGHEST_KRAFT_VERSION),
    )


def _directories_by_log(broker: PlannedBroker) -> dict[tuple[str, int], UUID]:
    return {(each.topic, each.partition): broker.directories[each.disk].directory_id for each in broker.folders}


def _with_directories(
    topic: str,
    index: int,
    record: PartitionRecord,
    by_broker: Mapping[int, Mapping[tuple[str, int], UUID]],
    firsts: Mapping[int, UUID],
) -> PartitionRecord:
    """The record with the directory of each replica; if it has no folder yet, the first directory of its broker."""
    found = tuple(
        by_broker.get(replica, {}).get((topic, index), firsts.get(replica, NO_UUID)) for replica in record.replicas
    )
    return replace(record, directories=found)


def find_or_make_cluster_id(brokers: Mapping[int, PlannedBroker]) -> str:
    """The cluster id of the directories, or a new one: brokers before 0.10.1 have none. Raises: RefusedDirectory."""
    found = {broker.cluster_id for broker in brokers.values() if broker.cluster_id}
    if len(found) > 1:
        raise RefusedDirectory(f"these directories are of several clusters: {', '.join(sorted(found))}")
    return next(iter(found), None) or encode_uuid(uuid4())


def choose_voters(broker_ids: list[int]) -> tuple[int, ...]:
    """The brokers that also become controllers: three, or one if there are fewer brokers than that."""
    return tuple(sorted(broker_ids)[: MOST_VOTERS if len(broker_ids) >= MOST_VOTERS else 1])
