"""Fault: a broker that has only a part of the coordinators' partitions looked groups up in a wrong one.

A group or transactional id whose partition nobody leads here is answered NOT_COORDINATOR by every API of coordinators,
and COORDINATOR_NOT_AVAILABLE by FindCoordinator, as Kafka answers for a partition without a leader.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.api import ApiKey, spec_of_request
from stepdown.protocol.coordinator.partitioning import partition_of
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from stepdown.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from stepdown.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stepdown.protocol.messages.delete_groups import DeleteGroupsRequest
from stepdown.protocol.messages.describe_groups import DescribeGroupsRequest
from stepdown.protocol.messages.describe_transactions import DescribeTransactionsRequest
from stepdown.protocol.messages.end_txn import EndTxnRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.offset_delete import OffsetDeleteRequest
from stepdown.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from stepdown.protocol.messages.sync_group import SyncGroupRequest
from stepdown.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from stepdown.testing.faults import COORDINATOR_APIS
from support.client import RawClient
from support.running import running_broker
from support.transactions import SETTINGS, make_topic

HERE, AWAY = "here", "away"
PARTITIONS = 3


def requests(name: str) -> list[tuple[Any, int]]:
    """A request of each API, with the version that has one group or id only where there is one."""
    committed = OffsetCommitRequestTopic(
        name="t", partitions=(OffsetCommitRequestPartition(partition_index=0, committed_offset=1),)
    )
    pending = TxnOffsetCommitRequestTopic(
        name="t", partitions=(TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1),)
    )
    added = AddPartitionsToTxnTopic(name="t", partitions=(0,))
    protocols = (JoinGroupRequestProtocol(name="range", metadata=b""),)
    return [
        (
            JoinGroupRequest(
                group_id=name,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                member_id="",
                protocol_type="consumer",
                protocols=protocols,
            ),
            5,
        ),
        (SyncGroupRequest(group_id=name, generation_id=1, member_id="m"), 3),
        (HeartbeatRequest(group_id=name, generation_id=1, member_id="m"), 3),
        (LeaveGroupRequest(group_id=name, members=(MemberIdentity(member_id="m"),)), 3),
        (OffsetCommitRequest(group_id=name, topics=(committed,)), 7),
        (OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=name, topics=None),)), 8),
        (OffsetDeleteRequest(group_id=name, topics=()), 0),
        (DescribeGroupsRequest(groups=(name,)), 5),
        (DeleteGroupsRequest(groups_names=(name,)), 2),
        (
            ConsumerGroupHeartbeatRequest(
                group_id=name,
                member_epoch=0,
                rebalance_timeout_ms=10_000,
                subscribed_topic_names=("t",),
                topic_partitions=(),
            ),
            0,
        ),
        (ConsumerGroupDescribeRequest(group_ids=(name,)), 0),
        (
            TxnOffsetCommitRequest(
                transactional_id=HERE, group_id=name, producer_id=1, producer_epoch=0, topics=(pending,)
            ),
            3,
        ),
        (InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=10_000), 3),
        (
            AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=name,
                v3_and_below_producer_id=1,
                v3_and_below_producer_epoch=0,
                v3_and_below_topics=(added,),
            ),
            3,
        ),
        (AddOffsetsToTxnRequest(transactional_id=name, producer_id=1, producer_epoch=0, group_id=HERE), 3),
        (EndTxnRequest(transactional_id=name, producer_id=1, producer_epoch=0, committed=True), 3),
        (DescribeTransactionsRequest(transactional_ids=(name,)), 0),
    ]


def error_codes(answer: Any) -> set[int]:
    """All error codes anywhere in an answer but 0."""
    if isinstance(answer, list | tuple):
        return {code for each in answer for code in error_codes(each)}
    found = set()
    for name in getattr(answer, "__slots__", None) or getattr(answer, "__dataclass_fields__", ()):
        value = getattr(answer, name)
        if name.endswith("error_code"):
            found.add(int(value))
        elif not isinstance(value, str | bytes | int | float | None):
            found |= error_codes(value)
    return found - {0}


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """A broker whose coordinators' topics have one partition that is not here: that of the name `AWAY`."""
    settings = SETTINGS | {"group_coordinator_rebalance_protocols": "classic,consumer"}
    async with running_broker(tmp_path, **settings) as broker:
        assert partition_of(AWAY, PARTITIONS) != partition_of(HERE, PARTITIONS)
        await make_topic(broker, "t")
        for name in ("__consumer_offsets", "__transaction_state"):
            topic = await broker.topics.ensure(name)
            topic.partitions[partition_of(AWAY, PARTITIONS)].leader_id = -1
        yield broker


@pytest.fixture
async def client(broker: Broker) -> AsyncIterator[RawClient]:
    async with await RawClient.connect(broker.address.host, broker.address.port) as client:
        yield client


@pytest.mark.parametrize("at", range(len(requests(AWAY))), ids=lambda at: type(requests(AWAY)[at][0]).__name__)
async def test_who_hashes_to_an_absent_partition_is_told_not_coordinator(client: RawClient, at: int) -> None:
    request, version = requests(AWAY)[at]
    assert error_codes(await client.send(request, version)) == {ErrorCode.NOT_COORDINATOR}
    other, version = requests(HERE)[at]
    assert ErrorCode.NOT_COORDINATOR not in error_codes(await client.send(other, version))


def test_every_api_of_coordinators_is_among_these() -> None:
    asked = {spec_of_request(request).key for request, _ in requests(AWAY)}
    assert asked | {ApiKey.FIND_COORDINATOR} >= {ApiKey[_key_name(name)] for name in COORDINATOR_APIS}


def _key_name(api: str) -> str:
    return "".join(f"_{letter}" if letter.isupper() else letter for letter in api).lstrip("_").upper()


@pytest.mark.parametrize("key_type", [0, 1], ids=["group", "transactional id"])
@pytest.mark.parametrize("version", [3, 4])
async def test_find_coordinator_says_that_there_is_none(client: RawClient, key_type: int, version: int) -> None:
    codes = {}
    for key in (HERE, AWAY):
        keys = {"coordinator_keys": (key,)} if version >= 4 else {"key": key}
        answer = await client.send(FindCoordinatorRequest(key_type=key_type, **keys), version)
        codes[key] = error_codes(answer)
    assert codes == {HERE: set(), AWAY: {ErrorCode.COORDINATOR_NOT_AVAILABLE}}
