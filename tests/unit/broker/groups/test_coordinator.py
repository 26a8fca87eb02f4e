"""The coordinator in a broker with a real log, asked over the wire in every version."""

import shutil
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from stepdown.broker.groups.group_record_log import TransactionalProducer
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.coordinator.partitioning import partition_of
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stepdown.protocol.messages.delete_groups import DeleteGroupsRequest
from stepdown.protocol.messages.describe_groups import DescribeGroupsRequest
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from stepdown.protocol.messages.list_groups import ListGroupsRequest
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from stepdown.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from stepdown.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from stepdown.protocol.records.builder import build_control_marker
from stepdown.protocol.records.layout import ControlType
from stepdown.storage.validation.prepared_append import AppendOrigin
from stepdown.storage.validation.record_sets import prepare
from support.client import RawClient
from support.running import running_broker, until

PARTITIONS = 3
SETTINGS = {"offsets_topic_num_partitions": PARTITIONS, "group_initial_rebalance_delay_ms": 0}


@asynccontextmanager
async def serving(directory, topics=("t",), **settings):
    """A broker with topics of two partitions, and a client."""
    async with running_broker(directory, **{**SETTINGS, **settings}) as broker:
        await broker.groups.await_loading()
        missing = [name for name in topics if name not in broker.cluster.topics]
        await broker.topics.create(
            [
                NewTopic(name=name, partitions=2, settings=broker.topics.configuration.topic_settings({}))
                for name in missing
            ]
        )
        client = await RawClient.connect(broker.address.host, broker.address.port, client_id="raw")
        yield broker, client
        await client.close()


async def join(client, version, group="g", **extra):
    """A member of the group, after the round trip for its id where there is one."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000 if version else -1,
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b"S"),),
        **extra,
    )
    answer = await client.send(request, version)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        answer = await client.send(replace(request, member_id=answer.member_id), version)
    return answer


def commit_request(version, group="g", offset=5, topic="t", partition=0, **extra):
    place = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata="m", committed_leader_epoch=-1
    )
    return OffsetCommitRequest(
        group_id=group, topics=(OffsetCommitRequestTopic(name=topic, partitions=(place,)),), **extra
    )


async def commit(client, version, **arguments):
    answer = await client.send(commit_request(version, **arguments), version)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


async def fetch(client, version, group="g", topic="t", partition=0, **extra):
    """Offset and error of a partition, wherever this version has them."""
    if version >= 8:
        asked = OffsetFetchRequestGroup(
            group_id=group, topics=(OffsetFetchRequestTopics(name=topic, partition_indexes=(partition,)),)
        )
        answer = (await client.send(OffsetFetchRequest(groups=(asked,), **extra), version)).groups[0]
    else:
        topics = (OffsetFetchRequestTopic(name=topic, partition_indexes=(partition,)),)
        answer = await client.send(OffsetFetchRequest(group_id=group, topics=topics, **extra), version)
    found = answer.topics[0].partitions[0]
    return found.committed_offset, ErrorCode(found.error_code)


async def test_a_member_lives_through_every_version(tmp_path):
    async with serving(tmp_path) as (_, client):
        for version in range(10):
            group = f"g{version}"
            joined = await join(client, version, group)
            assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
            assert [each.member_id for each in joined.members] == [joined.leader] == [joined.member_id]
            who = {"group_id": group, "generation_id": 1, "member_id": joined.member_id}
            share = (SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"A"),)
            named = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
            synced = await client.send(SyncGroupRequest(**who, assignments=share, **named), min(version, 5))
            assert (synced.error_code, synced.assignment) == (0, b"A")
            assert (await client.send(HeartbeatRequest(**who), min(version, 4))).error_code == 0
            leaving = (
                {"members": (MemberIdentity(member_id=joined.member_id),)}
                if version >= 3
                else {"member_id": joined.member_id}
            )
            left = await client.send(LeaveGroupRequest(group_id=group, **leaving), min(version, 5))
            assert left.error_code == 0
            again = await client.send(LeaveGroupRequest(group_id=group, **leaving), min(version, 5))
            codes = [each.error_code for each in again.members] if version >= 3 else [again.error_code]
            assert codes == [ErrorCode.UNKNOWN_MEMBER_ID]


async def test_sync_from_version_5_on_has_to_name_the_protocol(tmp_path):
    async with serving(tmp_path) as (_, client):
        joined = await join(client, 9)
        who = SyncGroupRequest(group_id="g", generation_id=1, member_id=joined.member_id)
        assert (await client.send(who, 5)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("session_timeout_ms", [5_999, 1_800_001])
async def test_a_session_timeout_out_of_bounds_is_refused(tmp_path, session_timeout_ms):
    async with serving(tmp_path) as (broker, client):
        request = JoinGroupRequest(group_id="g", session_timeout_ms=session_timeout_ms, protocol_type="consumer")
        assert (await client.send(request, 5)).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
        assert broker.groups.groups.find("g") is None


async def test_an_unknown_member_makes_no_group(tmp_path):
    async with serving(tmp_path) as (broker, client):
        joined = await join(client, 5, member_id="m")
        assert joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert broker.groups.groups.find("g") is None


async def test_an_offset_committed_in_any_version_is_fetched_in_any_other(tmp_path):
    async with serving(tmp_path) as (_, client):
        for committed in range(10):
            assert await commit(client, committed, offset=committed) == ErrorCode.NONE
            for fetched in range(10):
                assert await fetch(client, fetched) == (committed, ErrorCode.NONE)


async def test_what_was_never_committed_is_minus_one_and_an_error_only_in_version_0(tmp_path):
    async with serving(tmp_path) as (_, client):
        for version in range(10):
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if version == 0 else ErrorCode.NONE
            assert await fetch(client, version) == (-1, code)
            assert await fetch(client, version, topic="nowhere") == (-1, code)


async def test_a_partition_that_does_not_exist_fails_alone(tmp_path):
    async with serving(tmp_path) as (_, client):
        good = commit_request(8).topics[0].partitions[0]
        topics = (
            OffsetCommitRequestTopic(name="t", partitions=(good, replace(good, partition_index=9))),
            OffsetCommitRequestTopic(name="nowhere", partitions=(good,)),
        )
        answer = await client.send(OffsetCommitRequest(group_id="g", topics=topics), 8)
        codes = [[each.error_code for each in topic.partitions] for topic in answer.topics]
        assert codes == [[0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION], [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]]


@pytest.mark.parametrize("version", [2, 7, 8, 9])
async def test_null_topics_ask_for_all_offsets(tmp_path, version):
    async with serving(tmp_path) as (_, client):
        await commit(client, 8, partition=0)
        await commit(client, 8, partition=1)
        if version >= 8:
            asked = OffsetFetchRequestGroup(group_id="g", topics=None)
            answer = (await client.send(OffsetFetchRequest(groups=(asked,)), version)).groups[0]
        else:
            answer = await client.send(OffsetFetchRequest(group_id="g", topics=None), version)
        (topic,) = answer.topics
        assert sorted(each.partition_index for each in topic.partitions) == [0, 1]


async def test_pending_transactional_offsets_are_unstable_for_who_asks_for_stable_ones(tmp_path):
    async with serving(tmp_path) as (broker, client):
        committer = Committer(group_id="g", producer=TransactionalProducer(producer_id=5, producer_epoch=0))
        await broker.groups.commit_offsets(committer, [NewOffset(topic="t", partition=0, offset=9)])
        assert await fetch(client, 7) == (-1, ErrorCode.NONE)
        assert await fetch(client, 7, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        partition, turn = partition_of("g", PARTITIONS), broker.turns.begin()
        await broker.groups.complete_transaction(5, 0, committed=True, partition=partition, turn=turn)
        assert await fetch(client, 8, require_stable=True) == (9, ErrorCode.NONE)


async def test_an_empty_group_id_is_allowed_for_offsets_only(tmp_path):
    async with serving(tmp_path) as (_, client):
        assert await commit(client, 5, group="") == ErrorCode.NONE
        assert await fetch(client, 5, group="") == (5, ErrorCode.NONE)
        assert (await join(client, 5, group="")).error_code == ErrorCode.INVALID_GROUP_ID
        heartbeat = HeartbeatRequest(group_id="", generation_id=1, member_id="m")
        assert (await client.send(heartbeat, 3)).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(7))
async def test_the_coordinator_is_found_and_its_topic_made_on_first_need(tmp_path, version):
    async with serving(tmp_path) as (broker, client):
        assert "__consumer_offsets" not in broker.cluster.topics
        keys = {"coordinator_keys": ("g", "h")} if version >= 4 else {"key": "g"}
        answer = await client.send(FindCoordinatorRequest(**keys), version)
        found = answer.coordinators if version >= 4 else (answer,)
        assert {(each.error_code, each.node_id, each.port) for each in found} == {(0, 1, broker.address.port)}
        topic = broker.cluster.topics["__consumer_offsets"]
        assert len(topic.partitions) == PARTITIONS
        assert topic.settings.cleanup_policy == ("compact",)


async def test_key_types_that_name_nothing_are_refused(tmp_path):
    async with serving(tmp_path) as (_, client):
        for version, key_type, code in (
            (5, 2, ErrorCode.INVALID_REQUEST),
            (6, 2, ErrorCode.COORDINATOR_NOT_AVAILABLE),
            (6, 9, ErrorCode.INVALID_REQUEST),
        ):
            answer = await client.send(FindCoordinatorRequest(coordinator_keys=("g",), key_type=key_type), version)
            assert answer.coordinators[0].error_code == code


async def test_groups_are_listed_by_state_and_type(tmp_path):
    async with serving(tmp_path) as (_, client):
        await commit(client, 5, group="offsets-only")
        await join(client, 5, group="joined")
        for version in range(6):
            listed = await client.send(ListGroupsRequest(), version)
            assert {(each.group_id, each.protocol_type) for each in listed.groups} == {
                ("offsets-only", ""),
                ("joined", "consumer"),
            }
        listed = await client.send(ListGroupsRequest(states_filter=("completingREBALANCE",)), 4)
        assert [(each.group_id, each.group_state) for each in listed.groups] == [("joined", "CompletingRebalance")]
        listed = await client.send(ListGroupsRequest(types_filter=("Classic",)), 5)
        assert {each.group_type for each in listed.groups} == {"classic"}
        assert not (await client.send(ListGroupsRequest(types_filter=("consumer",)), 5)).groups


@pytest.mark.parametrize("version", range(6))
async def test_members_are_described_in_full_only_when_the_group_is_stable(tmp_path, version):
    async with serving(tmp_path) as (_, client):
        joined = await join(client, 5)
        operations = {"include_authorized_operations": True} if version >= 3 else {}
        request = DescribeGroupsRequest(groups=("g", "nowhere"), **operations)
        syncing, unknown = (await client.send(request, version)).groups
        assert (syncing.group_state, syncing.protocol_data, syncing.members[0].member_metadata) == (
            "CompletingRebalance",
            "",
            b"",
        )
        assert (unknown.error_code, unknown.group_state, unknown.members) == (0, "Dead", ())
        share = (SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"A"),)
        who = {"group_id": "g", "generation_id": 1, "member_id": joined.member_id}
        await client.send(SyncGroupRequest(**who, assignments=share), 3)
        stable = (await client.send(request, version)).groups[0]
        (member,) = stable.members
        assert (stable.group_state, stable.protocol_type, stable.protocol_data) == ("Stable", "consumer", "range")
        assert (member.client_id, member.client_host) == ("raw", "/127.0.0.1")
        assert (member.member_metadata, member.member_assignment) == (b"S", b"A")
        if version >= 3:
            assert stable.authorized_operations == 1 << 3 | 1 << 6 | 1 << 8


@pytest.mark.parametrize("version", range(3))
async def test_groups_are_deleted_when_they_have_no_members(tmp_path, version):
    async with serving(tmp_path) as (_, client):
        await commit(client, 5, group="free")
        await join(client, 5, group="used")
        answer = await client.send(DeleteGroupsRequest(groups_names=("free", "used", "nowhere")), version)
        assert {each.group_id: each.error_code for each in answer.results} == {
            "free": 0,
            "used": ErrorCode.NON_EMPTY_GROUP,
            "nowhere": ErrorCode.GROUP_ID_NOT_FOUND,
        }
        assert await fetch(client, 5, group="free") == (-1, ErrorCode.NONE)


async def test_offsets_are_deleted_one_by_one(tmp_path):
    async with serving(tmp_path) as (_, client):
        await commit(client, 5)
        partitions = tuple(OffsetDeleteRequestPartition(partition_index=each) for each in (0, 7))
        request = OffsetDeleteRequest(group_id="g", topics=(OffsetDeleteRequestTopic(name="t", partitions=partitions),))
        answer = await client.send(request, 0)
        codes = [each.error_code for each in answer.topics[0].partitions]
        assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await fetch(client, 5) == (-1, ErrorCode.NONE)
        assert (await client.send(replace(request, group_id="no"), 0)).error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_the_consumer_protocol_is_off_unless_it_is_asked_for(tmp_path):
    beat = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=("t",),
        topic_partitions=(),
    )
    describe = ConsumerGroupDescribeRequest(group_ids=("g",))
    async with serving(tmp_path / "off") as (_, client):
        assert (await client.send(beat, 0)).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert (await client.send(describe, 0)).groups[0].error_code == ErrorCode.UNSUPPORTED_VERSION
    async with serving(tmp_path / "on", group_coordinator_rebalance_protocols="classic,consumer") as (_, client):
        assert (await client.send(describe, 0)).groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
        answer = await client.send(beat, 1)
        assert (answer.error_code, answer.member_epoch) == (0, 1)
        assert answer.assignment.topic_partitions[0].partitions == (0, 1)
        described = (await client.send(describe, 1)).groups[0]
        assert (described.group_state, described.assignor_name, described.group_epoch) == ("Stable", "uniform", 1)
        (member,) = described.members
        assert member.assignment.topic_partitions[0].topic_name == "t"
        assert (member.member_type, member.target_assignment) == (1, member.assignment)
        dead = (await client.send(DescribeGroupsRequest(groups=("g",)), 5)).groups[0]
        assert (dead.error_code, dead.group_state) == (0, "Dead")


async def test_a_new_partition_is_assigned_at_the_next_heartbeat(tmp_path):
    async with serving(tmp_path, group_coordinator_rebalance_protocols="classic,consumer") as (broker, client):
        beat = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id="m", rebalance_timeout_ms=1, subscribed_topic_names=("t",), topic_partitions=()
        )
        await client.send(beat, 1)
        await broker.topics.add_partitions("t", 3)
        answer = await client.send(ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1), 1)
        assert answer.assignment.topic_partitions[0].partitions == (0, 1, 2)


# Restarts


async def test_acknowledged_commits_survive_a_broker_that_is_killed(tmp_path):
    async with serving(tmp_path / "log") as (_, client):
        joined = await join(client, 9)
        who = {"generation_id_or_member_epoch": 1, "member_id": joined.member_id}
        share = (SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"A"),)
        named = {"protocol_type": "consumer", "protocol_name": "range"}
        await client.send(
            SyncGroupRequest(group_id="g", generation_id=1, member_id=joined.member_id, assignments=share, **named),
            5,
        )
        assert await commit(client, 8, offset=77, **who) == ErrorCode.NONE
        shutil.copytree(tmp_path / "log", tmp_path / "killed")
    (tmp_path / "killed" / ".lock").unlink(missing_ok=True)
    async with serving(tmp_path / "killed") as (_, client):
        assert await fetch(client, 8) == (77, ErrorCode.NONE)
        beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=joined.member_id)
        assert (await client.send(beat, 4)).error_code == ErrorCode.NONE


async def test_damaged_offsets_are_an_error_and_not_minus_one(tmp_path, caplog):
    """A client that is told -1 begins anew, or at the end."""
    async with serving(tmp_path) as (_, client):
        assert await commit(client, 2, offset=77, generation_id_or_member_epoch=-1) == ErrorCode.NONE
    name = f"__consumer_offsets-{partition_of('g', PARTITIONS)}"
    (log,) = (path for path in tmp_path.rglob("*.log") if path.parent.name == name and path.stat().st_size)
    stored = bytearray(log.read_bytes())
    stored[-20] ^= 1
    log.write_bytes(stored)
    async with serving(tmp_path) as (broker, client):
        request = OffsetFetchRequest(group_id="g", topics=(OffsetFetchRequestTopic(name="t", partition_indexes=(0,)),))
        assert (await client.send(request, 2)).error_code == ErrorCode.NOT_COORDINATOR
        assert f"{name} is damaged" in caplog.text
        other = next(f"h{number}" for number in range(99) if partition_of(f"h{number}", PARTITIONS) != int(name[-1]))
        assert await fetch(client, 8, group=other) == (-1, ErrorCode.NONE)
        await broker.topics.delete(["__consumer_offsets"])
        assert await fetch(client, 8) == (-1, ErrorCode.NONE)


async def test_a_marker_in_the_log_decides_after_a_restart(tmp_path):
    async with serving(tmp_path) as (broker, _):
        committer = Committer(group_id="g", producer=TransactionalProducer(producer_id=5, producer_epoch=0))
        await broker.groups.commit_offsets(committer, [NewOffset(topic="t", partition=0, offset=9)])
        write_marker(broker, producer_id=5)
    async with serving(tmp_path) as (_, client):
        assert await fetch(client, 8, require_stable=True) == (9, ErrorCode.NONE)


def write_marker(broker, producer_id):
    topic = broker.cluster.topics["__consumer_offsets"]
    marker = build_control_marker(
        ControlType.COMMIT, offset=0, producer_id=producer_id, producer_epoch=0, coordinator_epoch=0, timestamp=1
    )
    rules = broker.append_rules_of(topic)
    prepared = prepare(memoryview(marker), rules, now_ms=1, origin=AppendOrigin.COORDINATOR)
    topic.partitions[partition_of("g", PARTITIONS)].log.append(prepared, leader_epoch=0)


async def test_while_a_partition_is_loaded_its_groups_wait_and_nobody_is_told_to_rejoin(tmp_path):
    async with serving(tmp_path) as (_, client):
        await commit(client, 8)
    async with running_broker(tmp_path, **SETTINGS) as broker:
        groups = broker.groups
        await groups.stop()
        groups.start()
        assert groups.is_loading()
        with pytest.raises(ApiError) as refusal:
            await groups.ensure_topic_and_check("g")
        assert refusal.value.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
        assert await groups.heartbeat(beat) == ErrorCode.NONE
        with pytest.raises(ApiError) as refusal:
            await groups.sync(SyncGroupRequest(group_id="g", generation_id=1, member_id="m"))
        assert refusal.value.code == ErrorCode.REBALANCE_IN_PROGRESS
        await groups.await_loading()
        await groups.ensure_topic_and_check("g")


async def test_a_coordinator_that_stops_answers_those_who_wait(tmp_path):
    async with serving(tmp_path, group_initial_rebalance_delay_ms=60_000) as (broker, client):
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=90_000,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name="range"),),
        )
        sent = await client.begin(request, 3)
        await until(lambda: broker.groups.groups.find("g") is not None)
        await broker.groups.stop()
        assert (await client.finish(request, 3, sent)).error_code == ErrorCode.NOT_COORDINATOR
        assert (await join(client, 3)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_deleted_topic_takes_its_offsets_along(tmp_path):
    async with serving(tmp_path) as (broker, client):
        await commit(client, 8)
        await broker.topics.delete(["t"])
        assert await fetch(client, 8) == (-1, ErrorCode.NONE)
    async with serving(tmp_path) as (broker, client):
        assert await fetch(client, 8) == (-1, ErrorCode.NONE)


async def test_without_the_offsets_topic_all_groups_are_forgotten(tmp_path):
    async with serving(tmp_path) as (broker, client):
        await commit(client, 8)
        await broker.topics.delete(["__consumer_offsets"])
        assert await fetch(client, 8) == (-1, ErrorCode.NONE)
        assert await commit(client, 8) == ErrorCode.NONE
