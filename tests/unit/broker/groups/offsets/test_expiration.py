"""When committed offsets are too old."""

import pytest
from stepdown.broker.groups.group_record_log import TransactionalProducer
from stepdown.network.turn import Turns
from support.groups import GROUP, GroupWorld

RETENTION_MS = 1_000
PLACE = ("t", 0)


@pytest.fixture
def world():
    return GroupWorld(offsets_retention_ms=RETENTION_MS)


async def expire(world):
    """Which offsets are left."""
    group = world.groups.find(GROUP)
    if group is not None:
        await world.commits.expire_offsets(group, Turns().begin())
    return dict(world.commits.offsets_of_group(GROUP))


async def test_offsets_without_a_group_expire_by_their_commit_time(world):
    await world.commit({PLACE: 1})
    await world.clock.advance(500)
    await world.commit({("t", 1): 1})
    await world.clock.advance(499)
    assert len(await expire(world)) == 2
    await world.clock.advance(1)
    assert list(await expire(world)) == [("t", 1)]
    await world.clock.advance(500)
    assert await expire(world) == {}
    assert world.groups.find(GROUP) is None


async def test_offsets_of_a_group_with_a_protocol_expire_when_it_has_been_empty_for_long(world):
    ids = await world.form(1, session_ms=600_000)
    await world.commit({PLACE: 1}, member_id=ids[0], generation=1)
    await world.clock.advance(5_000)
    assert await expire(world)
    world.leave(*ids)
    await world.clock.advance(999)
    assert await expire(world)
    await world.clock.advance(1)
    assert not await expire(world)
    assert [record.value for record in world.store.records[-2:]] == [None, None]


async def test_a_stable_consumer_group_keeps_the_offsets_of_its_subscribed_topics(world):
    ids = await world.form(1, session_ms=600_000)
    await world.commit({PLACE: 1, ("u", 0): 1}, member_id=ids[0], generation=1)
    await world.clock.advance(RETENTION_MS)
    assert list(await expire(world)) == [PLACE]


async def test_a_rebalancing_group_keeps_all_offsets(world):
    ids = await world.form(2, session_ms=600_000)
    await world.commit({("u", 0): 1}, member_id=ids[0], generation=1)
    await world.clock.advance(RETENTION_MS)
    world.join(ids[0])
    assert await expire(world)


async def test_a_group_of_another_protocol_keeps_all_offsets_while_it_has_members(world):
    ids = await world.form(1, protocol_type="connect", session_ms=600_000)
    await world.commit({("u", 0): 1}, member_id=ids[0], generation=1)
    await world.clock.advance(RETENTION_MS)
    assert await expire(world)


async def test_a_group_whose_subscriptions_cannot_be_read_keeps_all_offsets(world):
    ids = await world.form(1, protocols={"range": b"\0"}, session_ms=600_000)
    await world.commit({("u", 0): 1}, member_id=ids[0], generation=1)
    await world.clock.advance(RETENTION_MS)
    assert await expire(world)


async def test_an_expiry_of_the_commit_itself_wins(world):
    await world.commit({PLACE: 1}, retention_ms=10)
    await world.commit({("t", 1): 1}, retention_ms=5_000)
    await world.clock.advance(10)
    assert list(await expire(world)) == [("t", 1)]
    await world.clock.advance(4_990)
    assert not await expire(world)


async def test_what_a_transaction_is_about_to_set_is_kept(world):
    await world.commit({PLACE: 1})
    await world.commit({PLACE: 2}, producer=TransactionalProducer(producer_id=7, producer_epoch=0))
    await world.clock.advance(RETENTION_MS)
    assert await expire(world)
    world.offsets.end_transaction(GROUP, 7, committed=False)
    assert not await expire(world)


async def test_a_group_whose_transaction_is_open_stays(world):
    await world.commit({PLACE: 2}, producer=TransactionalProducer(producer_id=7, producer_epoch=0))
    await world.clock.advance(RETENTION_MS)
    await expire(world)
    assert world.groups.find(GROUP) is not None


async def test_an_empty_group_without_offsets_goes(world):
    ids = await world.form(1)
    world.leave(*ids)
    await expire(world)
    assert world.groups.find(GROUP) is None
    assert world.reloaded().groups.find(GROUP) is None


async def test_a_group_that_a_pending_member_is_about_to_join_stays(world):
    world.join()
    await expire(world)
    assert world.groups.find(GROUP) is not None


async def test_a_consumer_group_keeps_the_offsets_of_its_subscribed_topics(world):
    world.add_topic("t", 1, 1)
    world.consumer_heartbeat("m", 0)
    await world.commit({PLACE: 1, ("u", 0): 1}, member_id="m", generation=1)
    await world.clock.advance(RETENTION_MS)
    assert list(await expire(world)) == [PLACE]
