"""Static members (KIP-345): they come back without anybody noticing."""

import pytest
from stepdown.broker.groups.classic.state_table import ClassicGroupState
from stepdown.protocol.errors import ApiError, ErrorCode
from support.clock import settle


async def form_static(world, *instances, **join):
    joins = [world.join(instance=each, **join) for each in instances]
    await world.clock.advance(0)
    ids = [each.result().member_id for each in joins]
    await world.settle_syncs(ids)
    return ids


async def test_a_static_member_is_added_without_a_round_trip(world):
    (member_id,) = await form_static(world, "i")
    assert member_id.startswith("i-")


async def test_a_follower_that_comes_back_starts_no_rebalance(world):
    ids = await form_static(world, "a", "b")
    back = await world.join(instance="b")
    assert (back.error_code, back.generation_id, back.skip_assignment) == (ErrorCode.NONE, 1, False)
    assert back.member_id not in ids
    assert back.leader == ids[0]
    assert world.group.state is ClassicGroupState.STABLE
    assert (await world.sync(back.member_id, instance="b")).assignment == f"of {ids[1]}".encode()
    stored = world.store.records[-1].value.members
    assert {each.member_id for each in stored} == {ids[0], back.member_id}


async def test_a_leader_of_version_9_is_told_to_skip_the_assignment(world):
    await form_static(world, "a", "b")
    back = await world.join(instance="a", version=9)
    assert back.skip_assignment
    assert back.leader == back.member_id
    assert len(back.members) == 2


async def test_an_older_leader_is_not_told_that_it_leads(world):
    ids = await form_static(world, "a", "b")
    back = await world.join(instance="a", version=8)
    assert not back.skip_assignment
    assert back.leader == ids[0] != back.member_id
    assert back.members == ()


async def test_the_old_id_is_fenced(world):
    ids = await form_static(world, "a", "b")
    await world.join(instance="b")
    with pytest.raises(ApiError) as refusal:
        world.heartbeat(ids[1], instance="b")
    assert refusal.value.code == ErrorCode.FENCED_INSTANCE_ID
    assert (await world.join(ids[1], instance="b")).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.leave((ids[1], "b")) == [ErrorCode.FENCED_INSTANCE_ID]


async def test_an_unknown_instance_is_refused(world):
    ids = await form_static(world, "a")
    with pytest.raises(ApiError) as refusal:
        world.heartbeat(ids[0], instance="z")
    assert refusal.value.code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_waiting_requests_of_the_old_id_end_fenced(world):
    ids = await form_static(world, "a", "b")
    waiting = world.join(ids[0], instance="a")
    await settle()
    world.join(instance="a")
    await settle()
    assert waiting.result().error_code == ErrorCode.FENCED_INSTANCE_ID


async def test_a_change_of_the_protocol_rebalances(world):
    await form_static(world, "a", protocols={"range": b"", "roundrobin": b""})
    back = world.join(instance="a", protocols={"roundrobin": b""})
    await settle()
    assert back.result().generation_id == 2
    assert back.result().protocol_name == "roundrobin"


async def test_coming_back_while_the_others_sync_rebalances(world):
    joins = [world.join(instance=each) for each in "ab"]
    await world.clock.advance(0)
    ids = [each.result().member_id for each in joins]
    waiting = world.sync(ids[1])
    await settle()
    world.join(instance="a")
    await settle()
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


async def test_a_replacement_that_cannot_be_stored_is_undone(world):
    ids = await form_static(world, "a", "b")
    world.store.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    back = await world.join(instance="b")
    assert (back.error_code, back.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert set(world.group.members) == set(ids)
    assert world.heartbeat(ids[1], instance="b") == ErrorCode.NONE


async def test_an_operator_removes_a_static_member_by_its_instance_id(world):
    ids = await form_static(world, "a", "b")
    assert world.leave(("", "b"), ("", "z")) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert list(world.group.members) == [ids[0]]


async def test_the_session_of_the_new_id_runs_and_that_of_the_old_does_not(world):
    await form_static(world, "a", session_ms=10_000)
    await world.clock.advance(9_000)
    back = await world.join(instance="a", session_ms=10_000)
    await world.clock.advance(9_000)
    assert list(world.group.members) == [back.member_id]
    await world.clock.advance(1_000)
    assert not world.group.members
