"""What a start says of partitions that other brokers led."""

from pathlib import Path
from uuid import UUID

import pytest
from stepdown.storage.metadata.cluster_state import StoredTopic
from stepdown.storage.metadata.partition_record import NO_LEADER, PartitionRecord
from support.running import running_broker

STOPPED_CLEANLY = PartitionRecord(replicas=(1,), isr=(), leader=NO_LEADER, eligible_leader_replicas=(1,))
BEHIND = PartitionRecord(replicas=(1, 2), isr=(2,), leader=2)
IN_SYNC = PartitionRecord(replicas=(1, 2), isr=(1, 2), leader=2)


@pytest.mark.parametrize(
    ("record", "is_said"), [(STOPPED_CLEANLY, False), (BEHIND, True), (IN_SYNC, False)], ids=["elr", "behind", "isr"]
)
async def test_only_a_replica_that_may_lack_records_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, record: PartitionRecord, is_said: bool
) -> None:
    """Fault: after each clean stop of a Kafka 4.4.0 alone, whose replicas are in the ELR then, records were said to be
    missing."""
    async with running_broker(tmp_path) as broker:
        with broker.topics.store.change() as state:
            state.features["metadata.version"] = 25  # the first with the ELR
            state.topics["t"] = StoredTopic(topic_id=UUID(int=1001), replicas=(record,))
    async with running_broker(tmp_path):
        assert ("records may be missing" in caplog.text) == is_said


@pytest.mark.parametrize(
    ("replicas", "said"),
    [
        ([(1,), (1, 2)], ""),
        ([(1,), (2, 3)], "1 of 2 partitions are on the brokers [2, 3] by the metadata, and offline here, on node 1"),
        ([(2,), (3,)], "a directory of a controller alone has no records"),
    ],
    ids=["own", "one of several", "controller"],
)
async def test_partitions_of_other_brokers_alone_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, replicas: list[tuple[int, ...]], said: str
) -> None:
    """Fault: on the directory of a controller all topics were offline, and nothing said so."""
    records = tuple(PartitionRecord(replicas=each, isr=each, leader=each[0]) for each in replicas)
    async with running_broker(tmp_path) as broker:
        with broker.topics.store.change() as state:
            state.topics["t"] = StoredTopic(topic_id=UUID(int=1001), replicas=records)
    async with running_broker(tmp_path):
        assert any(said in message for message in caplog.messages if "by the metadata" in message) == bool(said)
