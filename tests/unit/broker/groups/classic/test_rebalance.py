"""The course of a rebalance: delays, timeouts, sessions, generations."""

import pytest
from stepdown.broker.groups.classic.state_table import NEXT, ClassicGroupState, state_table
from stepdown.protocol.errors import ErrorCode
from support.clock import settle
from support.groups import GroupWorld


def stored_generations(world):
    return [(record.value.generation, len(record.value.members)) for record in world.store.records]


async def test_the_first_rebalance_of_an_empty_group_waits_for_more_members():
    world = GroupWorld(initial_rebalance_delay_ms=3_000)
    first = world.join(version=3)
    await world.clock.advance(2_999)
    assert not first.done()
    await world.clock.advance(1)
    assert first.result().generation_id == 1


async def test_each_arrival_prolongs_the_wait_by_another_delay():
    world = GroupWorld(initial_rebalance_delay_ms=3_000)
    first = world.join(version=3)
    await world.clock.advance(2_000)
    second = world.join(version=3)
    await world.clock.advance(1_000)
    assert not first.done()
    await world.clock.advance(3_000)
    assert first.done()
    assert second.done()


async def test_the_wait_never_exceeds_the_largest_rebalance_timeout():
    world = GroupWorld(initial_rebalance_delay_ms=3_000)
    joins = [world.join(version=3, rebalance_ms=7_000)]
    for _ in range(6):
        await world.clock.advance(1_000)
        joins.append(world.join(version=3, rebalance_ms=7_000))
    await world.clock.advance(999)
    assert not joins[0].done()
    await world.clock.advance(1)
    assert all(each.done() for each in joins)


async def test_a_group_with_members_rebalances_without_delay():
    world = GroupWorld(initial_rebalance_delay_ms=3_000)
    first = world.join(version=3)
    await world.clock.advance(3_000)
    member_id = first.result().member_id
    await world.settle_syncs([member_id])
    world.join(version=3)
    again = world.join(member_id)
    await settle()
    assert again.result().generation_id == 2


async def test_all_members_are_released_together_when_the_last_has_joined(world):
    ids = await world.form(3)
    joins = [world.join(each) for each in ids[:2]]
    await world.clock.advance(1_000)
    assert not any(each.done() for each in joins)
    joins.append(world.join(ids[2]))
    await settle()
    assert {each.result().generation_id for each in joins} == {2}


async def test_dynamic_members_that_do_not_rejoin_in_time_are_removed(world):
    ids = await world.form(3, session_ms=90_000, rebalance_ms=60_000)
    joins = [world.join(each, session_ms=90_000) for each in ids[:2]]
    await world.clock.advance(59_999)
    assert not joins[0].done()
    await world.clock.advance(1)
    assert {each.result().generation_id for each in joins} == {2}
    assert set(world.group.members) == set(ids[:2])


async def test_the_largest_rebalance_timeout_of_all_members_counts(world):
    joins = [world.join(version=3, rebalance_ms=each, session_ms=90_000) for each in (10_000, 40_000)]
    await world.clock.advance(0)
    ids = [each.result().member_id for each in joins]
    await world.settle_syncs(ids)
    again = world.join(ids[0], rebalance_ms=10_000, session_ms=90_000)
    await world.clock.advance(39_999)
    assert not again.done()
    await world.clock.advance(1)
    assert again.done()


async def test_a_member_that_is_not_heard_of_is_removed_and_the_rest_rebalances(world):
    ids = await world.form(2, session_ms=10_000)
    await world.clock.advance(9_000)
    assert world.heartbeat(ids[0]) == ErrorCode.NONE
    await world.clock.advance(1_000)
    assert list(world.group.members) == [ids[0]]
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert world.heartbeat(ids[0]) == ErrorCode.REBALANCE_IN_PROGRESS


async def test_a_member_that_waits_in_join_does_not_expire(world):
    ids = await world.form(2, session_ms=10_000, rebalance_ms=60_000)
    waiting = world.join(ids[0], session_ms=10_000, rebalance_ms=60_000)
    await world.clock.advance(5_000)
    assert world.heartbeat(ids[1]) == ErrorCode.REBALANCE_IN_PROGRESS
    await world.clock.advance(9_000)
    assert ids[0] in world.group.members
    assert not waiting.done()


async def test_a_new_member_whose_join_waits_too_long_is_removed():
    world = GroupWorld(new_member_join_timeout_ms=300_000)
    ids = await world.form(1, session_ms=900_000, rebalance_ms=900_000)
    waiting = world.join(version=3, rebalance_ms=900_000)
    await world.clock.advance(299_999)
    assert not waiting.done()
    await world.clock.advance(1)
    assert (waiting.result().error_code, waiting.result().member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(world.group.members) == ids


async def test_a_group_that_everybody_left_is_empty_with_a_new_generation(world):
    ids = await world.form(2)
    assert world.leave(*ids) == [ErrorCode.NONE, ErrorCode.NONE]
    assert world.group.state is ClassicGroupState.EMPTY
    assert world.group.generation == 2
    assert world.group.protocol_name is None
    assert stored_generations(world) == [(1, 2), (2, 0)]


async def test_members_that_do_not_ask_for_their_assignment_are_removed(world):
    joins = [world.join(version=3, session_ms=200_000, rebalance_ms=60_000) for _ in range(2)]
    await world.clock.advance(0)
    ids = [each.result().member_id for each in joins]
    waiting = world.sync(ids[1])
    await settle()
    await world.clock.advance(60_000)
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert list(world.group.members) == [ids[1]]
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


async def test_nobody_is_removed_for_a_sync_phase_that_is_over(world):
    ids = await world.form(2, session_ms=200_000, rebalance_ms=60_000)
    await world.clock.advance(60_000)
    assert list(world.group.members) == ids
    assert world.group.state is ClassicGroupState.STABLE


async def test_static_members_may_miss_a_rebalance_and_expire_with_their_session(world):
    static = world.join(instance="i", session_ms=120_000)
    dynamic = world.join(version=3, session_ms=120_000)
    await world.clock.advance(0)
    ids = [static.result().member_id, dynamic.result().member_id]
    await world.settle_syncs(ids)
    again = world.join(ids[1], protocols={"range": b"x"}, session_ms=120_000)
    await world.clock.advance(60_000)
    assert again.result().generation_id == 2
    assert set(world.group.members) == set(ids)


async def test_another_round_is_waited_for_when_no_member_has_rejoined(world):
    static = world.join(instance="i", session_ms=200_000)
    dynamic = world.join(version=3, session_ms=200_000)
    await world.clock.advance(0)
    ids = [static.result().member_id, dynamic.result().member_id]
    await world.settle_syncs(ids)
    world.leave(ids[1])
    await world.clock.advance(60_000)
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE
    again = world.join(ids[0], instance="i", session_ms=200_000)
    await settle()
    assert again.result().generation_id == 2


async def test_an_empty_generation_that_cannot_be_stored_is_no_ones_failure(world):
    ids = await world.form(1)
    world.store.failure = ErrorCode.KAFKA_STORAGE_ERROR
    assert world.leave(ids[0]) == [ErrorCode.NONE]
    assert world.group.state is ClassicGroupState.EMPTY


def test_no_state_follows_death_but_death():
    assert NEXT[ClassicGroupState.DEAD] == {ClassicGroupState.DEAD}
    assert all(ClassicGroupState.DEAD in following for following in NEXT.values())


def test_a_group_becomes_stable_only_after_it_completed_a_rebalance():
    assert [state for state in ClassicGroupState if ClassicGroupState.STABLE in NEXT[state]] == [
        ClassicGroupState.COMPLETING_REBALANCE
    ]


def test_the_states_can_be_printed():
    assert len(state_table().splitlines()) == 1 + len(ClassicGroupState)


async def test_a_forbidden_step_is_a_mistake_of_ours(world):
    await world.form(1)
    with pytest.raises(RuntimeError, match="cannot go from Stable to Empty"):
        world.group.move_to(ClassicGroupState.EMPTY, 0)
