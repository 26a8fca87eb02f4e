"""Committed offsets: who may commit, what is kept, what is told, what goes."""

import asyncio
import itertools

import pytest
from stepdown.broker.groups.classic.group import ClassicGroup
from stepdown.broker.groups.classic.state_table import ClassicGroupState
from stepdown.broker.groups.consumer.group import ConsumerGroup
from stepdown.broker.groups.group_record_log import TransactionalProducer
from stepdown.broker.groups.offsets.offset_requests import Committer, NewOffset
from stepdown.network.turn import Turns
from stepdown.protocol.errors import ApiError, ErrorCode
from support.clock import settle
from support.groups import GROUP, GroupWorld

PLACE = ("t", 0)
PRODUCER = TransactionalProducer(producer_id=7, producer_epoch=0)


async def code_of(task):
    try:
        return (await task)[PLACE]
    except ApiError as error:
        return error.code


def short_turn():
    """Is over after each step."""
    return Turns(itertools.count().__next__).begin()


def fetched(world, topic="t", partition=0, *, stable=False):
    return world.commits.fetch(GROUP, topic, partition, stable=stable)


async def test_anybody_may_commit_for_a_group_that_is_not_known(world):
    assert await code_of(world.commit({PLACE: 5}, metadata="m")) == ErrorCode.NONE
    assert (fetched(world).offset, fetched(world).metadata) == (5, "m")
    assert world.group.state is ClassicGroupState.EMPTY
    assert world.group.protocol_type is None


@pytest.mark.parametrize(
    ("on", "version", "code"),
    [
        (False, 9, ErrorCode.ILLEGAL_GENERATION),
        (True, 8, ErrorCode.ILLEGAL_GENERATION),
        (True, 9, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_a_member_of_an_unknown_group_may_not_commit(on, version, code):
    """v9 got GROUP_ID_NOT_FOUND always, which ends a classic consumer instead of letting it rejoin."""
    world = GroupWorld(offers_consumer_protocol=on)
    assert await code_of(world.commit({PLACE: 5}, member_id="m", generation=1, version=version)) == code
    assert world.groups.find(GROUP) is None


@pytest.mark.parametrize(("on", "code"), [(False, ErrorCode.UNKNOWN_MEMBER_ID), (True, ErrorCode.ILLEGAL_GENERATION)])
async def test_nor_may_it_in_a_transaction(on, code):
    """It was ILLEGAL_GENERATION always; Kafka's older coordinator knows no such member."""
    world = GroupWorld(offers_consumer_protocol=on)
    assert await code_of(world.commit({PLACE: 5}, member_id="m", generation=1, producer=PRODUCER)) == code


async def test_a_member_commits_with_its_generation(world):
    ids = await world.form(2)
    assert await code_of(world.commit({PLACE: 5}, member_id=ids[1], generation=1)) == ErrorCode.NONE
    assert await code_of(world.commit({PLACE: 6}, member_id=ids[1], generation=0)) == ErrorCode.ILLEGAL_GENERATION
    assert await code_of(world.commit({PLACE: 6}, member_id="nobody", generation=1)) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await code_of(world.commit({PLACE: 6})) == ErrorCode.UNKNOWN_MEMBER_ID
    assert fetched(world).offset == 5


async def test_a_static_member_that_was_replaced_may_not_commit(world):
    joined = world.join(instance="i")
    await world.clock.advance(0)
    old = joined.result().member_id
    await world.settle_syncs([old])
    await world.join(instance="i")
    code = await code_of(world.commit({PLACE: 5}, member_id=old, instance_id="i", generation=1))
    assert code == ErrorCode.FENCED_INSTANCE_ID


async def test_members_may_commit_during_a_join_phase_but_not_during_a_sync_phase(world):
    ids = await world.form(2)
    joins = [world.join(ids[0])]
    assert await code_of(world.commit({PLACE: 5}, member_id=ids[1], generation=1)) == ErrorCode.NONE
    joins.append(world.join(ids[1]))
    await settle()
    assert await code_of(world.commit({PLACE: 6}, member_id=ids[1], generation=2)) == ErrorCode.REBALANCE_IN_PROGRESS


async def test_a_commit_is_a_sign_of_life(world):
    ids = await world.form(1, session_ms=10_000)
    for _ in range(3):
        await world.clock.advance(9_000)
        assert await code_of(world.commit({PLACE: 5}, member_id=ids[0], generation=1)) == ErrorCode.NONE
    assert list(world.group.members) == ids


async def test_metadata_that_is_too_long_fails_its_partition_alone():
    world = GroupWorld(metadata_max_chars=3)
    assert await code_of(world.commit({PLACE: 5}, metadata="abcd")) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert await code_of(world.commit({PLACE: 5}, metadata="äöü")) == ErrorCode.NONE
    assert await code_of(world.commit({PLACE: 5}, metadata="a\U0001f600\U0001f600")) != ErrorCode.NONE


async def test_all_offsets_of_a_commit_are_one_batch(world):
    await world.commit({("t", 0): 1, ("t", 1): 2, ("u", 0): 3})
    assert (world.store.batches, len(world.store.records)) == (1, 3)


async def test_null_metadata_is_empty_and_negative_offsets_are_kept(world):
    await world.commit({PLACE: -7})
    assert (fetched(world).offset, fetched(world).metadata) == (-7, "")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.REQUEST_TIMED_OUT),
    ],
)
async def test_what_the_store_says_is_told_in_words_of_a_coordinator(world, failure, told):
    world.store.failure = failure
    assert await code_of(world.commit({PLACE: 5})) == told
    assert fetched(world).offset == -1


async def test_a_commit_that_is_not_replicated_is_unstable(world):
    world.store.replication = asyncio.get_running_loop().create_future()
    task = world.commit({PLACE: 5})
    await settle()
    assert not task.done()
    with pytest.raises(ApiError) as refusal:
        fetched(world, stable=True)
    assert refusal.value.code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    world.store.replication.set_result(None)
    await task
    assert fetched(world, stable=True).offset == 5


async def test_a_partition_without_an_offset_has_minus_one(world):
    nothing = fetched(world)
    assert (nothing.offset, nothing.leader_epoch, nothing.metadata) == (-1, -1, "")


# Transactions


async def test_a_transactional_offset_counts_when_the_marker_says_commit(world):
    await world.commit({PLACE: 5})
    await world.commit({PLACE: 9}, producer=PRODUCER)
    assert fetched(world).offset == 5
    with pytest.raises(ApiError):
        fetched(world, stable=True)
    assert list(world.offsets.groups_of_producer(7)) == [GROUP]
    world.offsets.end_transaction(GROUP, 7, committed=True)
    assert fetched(world, stable=True).offset == 9


async def test_a_transactional_offset_is_dropped_when_the_marker_says_abort(world):
    await world.commit({PLACE: 9}, producer=PRODUCER)
    world.offsets.end_transaction(GROUP, 7, committed=False)
    assert fetched(world, stable=True).offset == -1


async def test_of_two_pending_commits_the_later_record_wins(world):
    await world.commit({PLACE: 9}, producer=PRODUCER)
    await world.commit({PLACE: 5})
    world.offsets.end_transaction(GROUP, 7, committed=True)
    assert fetched(world).offset == 5


async def test_a_marker_decides_for_one_group_and_not_for_others_of_the_producer(world):
    await world.commit({PLACE: 9}, producer=PRODUCER)
    await world.commit({PLACE: 8}, producer=PRODUCER, group_id="other")
    world.offsets.end_transaction(GROUP, 7, committed=True)
    assert fetched(world).offset == 9
    assert world.offsets.is_unstable("other", *PLACE)


async def test_a_transaction_may_commit_without_naming_a_member(world):
    ids = await world.form(1)
    assert await code_of(world.commit({PLACE: 5}, producer=PRODUCER)) == ErrorCode.NONE
    wrong = world.commit({PLACE: 5}, producer=PRODUCER, member_id=ids[0], generation=0)
    assert await code_of(wrong) == ErrorCode.ILLEGAL_GENERATION


# Deleting


async def test_offsets_of_topics_that_nobody_reads_can_be_deleted(world):
    await world.form(1)
    (member_id,) = world.group.members
    await world.commit({("t", 0): 1, ("u", 0): 2}, member_id=member_id, generation=1)
    codes = world.commits.delete_offsets(GROUP, [("t", 0), ("u", 0), ("u", 1)])
    assert codes == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): ErrorCode.NONE, ("u", 1): ErrorCode.NONE}
    assert fetched(world, "u").offset == -1
    assert world.store.records[-1].value is None


async def test_offsets_of_other_protocols_are_deleted_only_without_members(world):
    ids = await world.form(1, protocol_type="connect")
    with pytest.raises(ApiError) as refusal:
        world.commits.delete_offsets(GROUP, [PLACE])
    assert refusal.value.code == ErrorCode.NON_EMPTY_GROUP
    world.leave(*ids)
    assert world.commits.delete_offsets(GROUP, [PLACE]) == {PLACE: ErrorCode.NONE}


@pytest.mark.parametrize("on", [False, True])
async def test_a_group_without_members_goes_with_its_last_offset_where_the_consumer_protocol_is_off(on):
    """It stayed, Empty, until the next check of retention, as it does with Kafka's newer coordinator."""
    world = GroupWorld(offers_consumer_protocol=on)
    await world.commit({("t", 0): 1, ("u", 0): 2})
    world.commits.delete_offsets(GROUP, [("t", 0)])
    assert world.groups.find(GROUP) is not None
    world.commits.delete_offsets(GROUP, [("u", 0)])
    assert (world.groups.find(GROUP) is not None) == on


async def test_offsets_of_an_unknown_group_cannot_be_deleted(world):
    with pytest.raises(ApiError) as refusal:
        world.commits.delete_offsets("unknown", [PLACE])
    assert refusal.value.code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_a_deleted_group_leaves_nothing_behind(world):
    await world.commit({PLACE: 5})
    await world.commit({("t", 1): 6}, producer=PRODUCER)
    world.commits.delete_group(world.group, await world.commits.encode_tombstones(GROUP, short_turn()))
    assert world.groups.find(GROUP) is None
    assert fetched(world).offset == -1
    assert not world.offsets.is_unstable(GROUP, "t", 1)
    assert world.reloaded().groups.find(GROUP) is None


async def test_a_deleted_topic_takes_its_offsets_from_all_groups(world):
    await world.commit({("t", 0): 1, ("u", 0): 2})
    await world.commits.delete_offsets_of_topics({"t", "v"}, {0: 2}, short_turn())
    assert fetched(world, "t").offset == -1
    assert fetched(world, "u").offset == 2


async def test_what_is_committed_for_a_new_topic_of_a_deleted_one_s_name_stays(world):
    """Tombstones are written while others have the loop: they would take the offsets of the topic that follows."""
    places = [("t", index) for index in range(300)]
    await world.commit(dict.fromkeys(places, 1))
    await world.commit({("t", 299): 1}, producer=PRODUCER)
    deletion = asyncio.create_task(world.commits.delete_offsets_of_topics({"t"}, {0: 301}, short_turn()))
    await settle(2)
    assert fetched(world, "t").offset == -1
    assert fetched(world, "t", 250).offset == 1
    new = [NewOffset(topic="t", partition=0, offset=7), NewOffset(topic="t", partition=250, offset=8)]
    await world.commits.commit(Committer(group_id=GROUP), new)
    new = [NewOffset(topic="t", partition=251, offset=9)]
    await world.commits.commit(Committer(group_id=GROUP, producer=PRODUCER), new)
    await deletion
    left = {where: offset.offset for where, offset in world.offsets.of_group(GROUP).items()}
    assert left == {("t", 0): 7, ("t", 250): 8, ("t", 251): 1}
    world.offsets.end_transaction(GROUP, PRODUCER.producer_id, committed=True)
    assert fetched(world, "t", 251).offset == 9
    assert fetched(world, "t", 299).offset == -1
    assert world.store.batches == 7


async def test_an_offset_that_comes_while_tombstones_are_encoded_goes_with_the_group(world):
    await world.commit(dict.fromkeys([("t", index) for index in range(1_000)], 1))
    encoding = asyncio.create_task(world.commits.encode_tombstones(GROUP, short_turn()))
    await asyncio.sleep(0)
    assert not encoding.done()
    await world.commit({("u", 0): 1})
    world.commits.delete_group(world.group, await encoding)
    assert world.reloaded().groups.find(GROUP) is None
    assert not world.offsets.of_group(GROUP)


# Restart


async def test_offsets_come_back_after_a_restart(world):
    await world.commit({PLACE: 5})
    await world.commit({PLACE: 6}, retention_ms=100)
    await world.commit({("t", 1): 7}, producer=PRODUCER)
    again = world.reloaded()
    assert fetched(again) == fetched(world)
    assert again.offsets.is_unstable(GROUP, "t", 1)
    assert isinstance(again.groups.find(GROUP), ClassicGroup)


async def test_a_group_comes_back_stable_with_its_members_and_assignments(world):
    ids = await world.form(2)
    again = world.reloaded().group
    assert (again.state, again.generation, again.leader_id) == (ClassicGroupState.STABLE, 1, ids[0])
    assert {each.member_id: each.assignment for each in again.members.values()} == {
        member_id: f"of {member_id}".encode() for member_id in ids
    }
    assert again.subscribed_topics == {"t"}


async def test_a_group_without_members_comes_back_empty(world):
    ids = await world.form(1)
    world.leave(*ids)
    again = world.reloaded().group
    assert (again.state, again.generation, again.protocol_type) == (ClassicGroupState.EMPTY, 2, "consumer")
    assert again.state_since_ms == world.clock.now_ms()


async def test_a_consumer_group_takes_the_place_of_a_group_that_only_held_offsets(world):
    await world.commit({PLACE: 5})
    world.add_topic("t", 2, 1)
    world.consumer_heartbeat("m", 0)
    again = world.reloaded()
    assert isinstance(again.groups.find(GROUP), ConsumerGroup)
    assert fetched(again).offset == 5
