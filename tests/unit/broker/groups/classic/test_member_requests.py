"""SyncGroup, Heartbeat and LeaveGroup of classic members."""

import asyncio

import pytest
from stepdown.broker.groups.classic.state_table import ClassicGroupState
from stepdown.protocol.errors import ApiError, ErrorCode
from support.clock import settle


async def joined(world, count=2, **join):
    joins = [world.join(version=3, **join) for _ in range(count)]
    await world.clock.advance(0)
    return [each.result().member_id for each in joins]


async def code_of(task):
    try:
        return ErrorCode((await task).error_code)
    except ApiError as error:
        return error.code


async def test_everybody_gets_its_part_once_the_leader_has_handed_in_the_assignment(world):
    leader, follower = await joined(world)
    waiting = world.sync(follower)
    await settle()
    assert not waiting.done()
    leading = world.sync(leader, {leader: b"L", follower: b"F"})
    await settle()
    assert (leading.result().assignment, waiting.result().assignment) == (b"L", b"F")
    assert world.group.state is ClassicGroupState.STABLE


async def test_a_member_that_the_leader_forgot_gets_an_empty_assignment(world):
    leader, follower = await joined(world)
    world.sync(leader, {leader: b"L"})
    waiting = world.sync(follower)
    await settle()
    assert waiting.result().assignment == b""
    assert waiting.result().error_code == ErrorCode.NONE


async def test_a_late_sync_in_a_stable_group_gets_what_was_stored(world):
    leader, follower = await joined(world)
    world.sync(leader, {leader: b"L", follower: b"F"})
    await settle()
    assert (await world.sync(follower)).assignment == b"F"


async def test_the_assignment_is_stored_before_anybody_hears_of_it(world):
    leader, follower = await joined(world)
    world.store.replication = asyncio.get_running_loop().create_future()
    tasks = [world.sync(leader, {leader: b"L", follower: b"F"}), world.sync(follower)]
    await settle()
    assert not any(task.done() for task in tasks)
    assert [len(record.value.members) for record in world.store.records] == [2]
    world.store.replication.set_result(None)
    await settle()
    assert [task.result().assignment for task in tasks] == [b"L", b"F"]


async def test_a_rebalance_while_the_assignment_is_stored_drops_it(world):
    leader, follower = await joined(world)
    world.store.replication = asyncio.get_running_loop().create_future()
    task = world.sync(leader, {leader: b"L", follower: b"F"})
    await settle()
    world.join(follower, protocols={"range": b"x"})
    world.store.replication.set_result(None)
    assert await code_of(task) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REBALANCE_IN_PROGRESS),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_an_assignment_that_cannot_be_stored_starts_a_rebalance(world, failure, told):
    leader, follower = await joined(world)
    waiting = world.sync(follower)
    world.store.failure = failure
    leading = world.sync(leader, {leader: b"L"})
    assert [await code_of(waiting), await code_of(leading)] == [told, told]
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


async def test_sync_checks_member_generation_and_protocol(world):
    leader, _ = await joined(world)
    assert await code_of(world.sync("nobody")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await code_of(world.sync(leader, generation=7)) == ErrorCode.ILLEGAL_GENERATION
    assert await code_of(world.sync(leader, protocol="other")) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_sync_during_a_join_phase_asks_to_rejoin(world):
    ids = await world.form(2)
    world.join(ids[0])
    assert await code_of(world.sync(ids[1])) == ErrorCode.REBALANCE_IN_PROGRESS


async def test_heartbeat_checks_member_and_generation(world):
    ids = await world.form(1)
    assert world.heartbeat(ids[0]) == ErrorCode.NONE
    for arguments in ({"member_id": "nobody"}, {"member_id": ids[0], "generation": 0}):
        with pytest.raises(ApiError) as refusal:
            world.heartbeat(**arguments)
        expected = ErrorCode.ILLEGAL_GENERATION if "generation" in arguments else ErrorCode.UNKNOWN_MEMBER_ID
        assert refusal.value.code == expected


async def test_a_heartbeat_during_a_join_phase_asks_to_rejoin_but_keeps_the_session(world):
    ids = await world.form(2, session_ms=10_000, rebalance_ms=60_000)
    world.join(ids[0], session_ms=10_000)
    for _ in range(3):
        await world.clock.advance(9_000)
        assert world.heartbeat(ids[1]) == ErrorCode.REBALANCE_IN_PROGRESS
    assert set(world.group.members) == set(ids)


async def test_members_may_heartbeat_while_the_group_syncs(world):
    leader, _ = await joined(world)
    assert world.heartbeat(leader) == ErrorCode.NONE


async def test_who_leaves_is_removed_at_once(world):
    ids = await world.form(2)
    assert world.leave(ids[0], "nobody") == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert list(world.group.members) == [ids[1]]
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


async def test_a_leaving_member_completes_the_join_phase_of_the_others(world):
    ids = await world.form(2)
    waiting = world.join(ids[0])
    await settle()
    world.leave(ids[1])
    await settle()
    assert waiting.result().generation_id == 2


async def test_a_pending_member_may_leave(world):
    world.join()
    (pending,) = world.group.pending_members
    assert world.leave(pending) == [ErrorCode.NONE]
    assert not world.group.pending_members


async def test_a_pending_member_that_leaves_disturbs_nobody(world):
    """It made a stable group rebalance."""
    await world.form(1)
    world.join()
    (pending,) = world.group.pending_members
    assert world.leave(pending) == [ErrorCode.NONE]
    assert world.group.state is ClassicGroupState.STABLE


async def test_a_waiting_join_of_a_member_that_is_made_to_leave_ends(world):
    await world.form(2)
    ids = list(world.group.members)
    waiting = world.join(ids[0])
    world.leave(ids[0])
    await settle()
    assert waiting.result().error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_waiting_sync_of_a_member_that_is_made_to_leave_ends(world):
    _, follower = await joined(world)
    waiting = world.sync(follower)
    await settle()
    world.leave(follower)
    assert await code_of(waiting) == ErrorCode.UNKNOWN_MEMBER_ID
