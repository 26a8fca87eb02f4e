"""Groups with members that change between the classic and the consumer protocol (group.consumer.migration.policy)."""

import pytest
from stepdown.broker.groups.classic.state_table import ClassicGroupState
from stepdown.protocol.coordinator.consumer_protocol import (
    ConsumerAssignment,
    ConsumerTopicPartitions,
    decode_assignment,
    encode_assignment,
)
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.leave_group import MemberIdentity
from stepdown.protocol.messages.sync_group import SyncGroupRequest
from support.clock import settle
from support.groups import GROUP, GroupWorld, topic_id

T = topic_id(1)


def world_of(**rules):
    world = GroupWorld(**{"may_upgrade": True, "may_downgrade": True, **rules})
    world.add_topic("t", 4, 1)
    return world


def partitions(*indexes):
    listed = (ConsumerTopicPartitions(topic="t", partitions=indexes),)
    return encode_assignment(ConsumerAssignment(assigned_partitions=listed), 1)


async def form_classic(world, count=2):
    """A classic group in which each member owns its share of four partitions."""
    joins = [world.join(version=3, session_ms=50_000) for _ in range(count)]
    await world.clock.advance(0)
    ids = [each.result().member_id for each in joins]
    shares = {member_id: partitions(*range(at, 4, count)) for at, member_id in enumerate(ids)}
    for member_id in ids:
        world.sync(member_id, shares if member_id == world.group.leader_id else None)
    await settle()
    return ids


def heartbeat(world, member_id, generation):
    request = HeartbeatRequest(group_id=GROUP, generation_id=generation, member_id=member_id)
    return world.classic_in_consumer.heartbeat(world.consumer_group, request)


def sync(world, member_id, generation):
    request = SyncGroupRequest(
        group_id=GROUP,
        generation_id=generation,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
    )
    answer = world.classic_in_consumer.sync(world.consumer_group, request)
    return [index for each in decode_assignment(answer.assignment).assigned_partitions for index in each.partitions]


async def test_a_classic_group_is_not_upgraded_unless_it_may_be():
    world = world_of(may_upgrade=False)
    await form_classic(world)
    with pytest.raises(ApiError) as refusal:
        world.consumer_heartbeat("new", 0)
    assert refusal.value.code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_only_groups_of_consumers_are_upgraded():
    world = world_of()
    await world.form(1, protocol_type="connect")
    with pytest.raises(ApiError) as refusal:
        world.consumer_heartbeat("new", 0)
    assert refusal.value.code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_an_upgraded_group_goes_on_where_it_was():
    world = world_of()
    ids = await form_classic(world)
    answer = world.consumer_heartbeat("new", 0)
    group = world.consumer_group
    assert (group.epoch, answer.member_epoch) == (2, 2)
    assert {member_id: set(group.members[member_id].assigned[T]) for member_id in ids} == {
        ids[0]: {0, 2},
        ids[1]: {1, 3},
    }
    assert all(group.members[member_id].classic is not None for member_id in ids)
    again = world.reloaded().consumer_group
    assert again.members == group.members


async def test_members_that_wait_in_the_classic_group_are_told_to_rejoin():
    world = world_of()
    ids = await form_classic(world)
    waiting = world.join(ids[0])
    world.consumer_heartbeat("new", 0)
    await settle()
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS


async def test_classic_members_follow_the_new_group_step_by_step():
    world = world_of()
    ids = await form_classic(world)
    world.consumer_heartbeat("new", 0)
    owned = {ids[0]: (0, 2), ids[1]: (1, 3)}
    kept = {}
    for member_id in ids:
        assert heartbeat(world, member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        listed = (ConsumerTopicPartitions(topic="t", partitions=owned[member_id]),)
        joined = world.join_consumer_group(member_id, owned=listed)
        assert (joined.error_code, joined.leader, joined.protocol_name) == (ErrorCode.NONE, "", "range")
        kept[member_id] = sync(world, member_id, joined.generation_id)
        if joined.generation_id == 1:
            assert heartbeat(world, member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
            listed = (ConsumerTopicPartitions(topic="t", partitions=tuple(kept[member_id])),)
            joined = world.join_consumer_group(member_id, owned=listed)
            kept[member_id] = sync(world, member_id, joined.generation_id)
        assert heartbeat(world, member_id, joined.generation_id) == ErrorCode.NONE
    new = world.consumer_heartbeat("new", 2)
    taken = [index for each in new.assignment.topic_partitions for index in each.partitions]
    assert sorted([*taken, *kept[ids[0]], *kept[ids[1]]]) == [0, 1, 2, 3]
    assert world.consumer_group.state_name == "Stable"


async def test_a_new_classic_member_of_a_consumer_group_makes_the_round_trip_for_its_id():
    world = world_of()
    world.consumer_heartbeat("new", 0)
    told = world.join_consumer_group()
    assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert world.join_consumer_group(told.member_id).error_code == ErrorCode.NONE
    assert world.join_consumer_group(version=3).error_code == ErrorCode.NONE
    assert len(world.consumer_group.members) == 3


async def test_requests_of_classic_members_are_checked_in_a_consumer_group():
    world = world_of()
    world.consumer_heartbeat("new", 0)
    member_id = world.join_consumer_group(version=3).member_id
    for arguments, code in (
        (("nobody", 2), ErrorCode.UNKNOWN_MEMBER_ID),
        (("new", 2), ErrorCode.UNKNOWN_MEMBER_ID),
        ((member_id, 7), ErrorCode.ILLEGAL_GENERATION),
    ):
        with pytest.raises(ApiError) as refusal:
            heartbeat(world, *arguments)
        assert refusal.value.code == code


async def test_a_classic_member_that_does_not_rejoin_is_removed():
    world = world_of()
    ids = await form_classic(world)
    world.consumer_heartbeat("new", 0)
    heartbeat(world, ids[0], 1)
    for _ in range(2):
        await world.clock.advance(30_000)
        heartbeat(world, ids[0], 1) if ids[0] in world.consumer_group.members else None
        world.consumer_heartbeat("new", 2)
    assert ids[0] not in world.consumer_group.members


async def test_classic_members_leave_a_consumer_group():
    world = world_of()
    ids = await form_classic(world)
    world.consumer_heartbeat("new", 0)
    leaving = [MemberIdentity(member_id=ids[0]), MemberIdentity(member_id="nobody")]
    answers = world.classic_in_consumer.leave(world.consumer_group, leaving)
    assert [each.error_code for each in answers] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert ids[0] not in world.consumer_group.members
    assert world.consumer_group.epoch == 3


async def test_when_the_last_member_of_the_new_protocol_leaves_the_group_is_classic_again():
    world = world_of()
    ids = await form_classic(world)
    world.consumer_heartbeat("new", 0)
    world.consumer_heartbeat("new", -1)
    group = world.group
    assert (group.state, group.generation, set(group.members)) == (ClassicGroupState.PREPARING_REBALANCE, 2, set(ids))
    stored = world.reloaded().group
    assert (stored.state, stored.protocol_name) == (ClassicGroupState.STABLE, "range")
    joins = [world.join(member_id) for member_id in ids]
    await settle()
    assert {each.result().generation_id for each in joins} == {3}


async def test_a_consumer_group_stays_one_when_it_may_not_be_downgraded():
    world = world_of(may_downgrade=False)
    ids = await form_classic(world)
    world.consumer_heartbeat("new", 0)
    world.consumer_heartbeat("new", -1)
    assert set(world.consumer_group.members) == set(ids)


async def test_a_classic_member_is_not_given_a_topic_that_it_may_not_see():
    """In a consumer group the broker assigns: it told members of topics that no access rule lets them see."""
    world = world_of()
    world.consumer_heartbeat("new", 0)
    with pytest.raises(ApiError) as refusal:
        world.join_consumer_group(version=3, may_see=lambda topic: topic != "t")
    assert refusal.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert list(world.consumer_group.members) == ["new"]
