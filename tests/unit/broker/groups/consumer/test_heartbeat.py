"""ConsumerGroupHeartbeat (KIP-848)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepdown.broker.groups.consumer_group_store import MOST_EXPRESSIONS
from stepdown.protocol.errors import ApiError, ErrorCode
from support.groups import GROUP, GroupWorld, topic_id

T = topic_id(1)


@pytest.fixture
def world():
    made = GroupWorld(offers_consumer_protocol=True)
    made.add_topic("t", 6, 1)
    return made


def refused(world, *arguments, **request):
    with pytest.raises(ApiError) as refusal:
        world.consumer_heartbeat(*arguments, **request)
    return refusal.value.code


def given_to(response):
    """Partitions of topic t in the answer; None without an assignment."""
    if response.assignment is None:
        return None
    return sorted(index for each in response.assignment.topic_partitions for index in each.partitions)


async def test_the_first_member_gets_everything(world):
    answer = world.consumer_heartbeat("m", 0)
    assert (answer.member_id, answer.member_epoch, given_to(answer)) == ("m", 1, [0, 1, 2, 3, 4, 5])
    assert answer.heartbeat_interval_ms == 5_000
    assert world.consumer_group.state_name == "Stable"


async def test_a_member_without_an_id_is_given_one_in_version_0_only(world):
    answer = world.consumer_heartbeat("", 0, version=0)
    assert answer.member_id
    assert refused(world, "", 0, version=1) == ErrorCode.INVALID_REQUEST


async def test_a_heartbeat_without_news_has_no_assignment_and_writes_nothing(world):
    world.consumer_heartbeat("m", 0)
    written = len(world.store.records)
    answer = world.consumer_heartbeat("m", 1)
    assert (answer.member_epoch, answer.assignment) == (1, None)
    assert len(world.store.records) == written


async def test_a_full_request_is_answered_with_the_assignment(world):
    world.consumer_heartbeat("m", 0)
    answer = world.consumer_heartbeat(
        "m", 1, {T: [0, 1, 2, 3, 4, 5]}, rebalance_timeout_ms=1_000, subscribed_topic_names=("t",)
    )
    assert given_to(answer) == [0, 1, 2, 3, 4, 5]


async def test_a_partition_goes_to_the_next_member_only_when_the_last_has_given_it_back(world):
    world.consumer_heartbeat("a", 0)
    joined = world.consumer_heartbeat("b", 0)
    assert (joined.member_epoch, given_to(joined)) == (2, [])
    told = world.consumer_heartbeat("a", 1)
    kept = given_to(told)
    assert (told.member_epoch, len(kept)) == (1, 3)
    assert world.consumer_heartbeat("a", 1, {T: [0, 1, 2, 3, 4, 5]}).member_epoch == 1
    assert given_to(world.consumer_heartbeat("b", 2)) is None
    moved = world.consumer_heartbeat("a", 1, {T: kept})
    assert moved.member_epoch == 2
    taken = given_to(world.consumer_heartbeat("b", 2))
    assert sorted(kept + taken) == [0, 1, 2, 3, 4, 5]
    assert world.consumer_group.state_name == "Stable"


async def test_the_states_of_a_group(world):
    world.consumer_heartbeat("a", 0)
    world.consumer_heartbeat("b", 0)
    assert world.consumer_group.state_name == "Reconciling"
    for member_id in ("a", "b"):
        epoch = world.consumer_group.members[member_id].epoch
        world.consumer_heartbeat(member_id, -1)
        assert epoch in (1, 2)
    assert world.consumer_group.state_name == "Empty"


@pytest.mark.parametrize(
    "request_",
    [
        {"rebalance_timeout_ms": -1},
        {"subscribed_topic_names": None},
        {"subscribed_topic_names": ()},
        {"owned": {T: [0]}},
        {"instance_id": ""},
        {"rack_id": ""},
    ],
    ids=lambda request: next(iter(request)),
)
async def test_a_join_has_to_be_complete(world, request_):
    assert refused(world, "m", 0, **request_) == ErrorCode.INVALID_REQUEST
    assert world.groups.find(GROUP) is None


async def test_epochs_below_minus_2_do_not_exist_and_minus_2_needs_an_instance(world):
    assert refused(world, "m", -3) == ErrorCode.INVALID_REQUEST
    assert refused(world, "m", -2) == ErrorCode.INVALID_REQUEST


async def test_an_unknown_assignor_is_refused(world):
    assert refused(world, "m", 0, server_assignor="best") == ErrorCode.UNSUPPORTED_ASSIGNOR


async def test_the_assignor_most_members_name_is_used(world):
    world.consumer_heartbeat("a", 0, server_assignor="range")
    assert world.consumer_group.choose_assignor(world.consumer_group.members.values()) == "range"


async def test_a_full_group_takes_nobody():
    world = GroupWorld(consumer_max_size=1)
    world.add_topic("t", 2, 1)
    world.consumer_heartbeat("a", 0)
    assert refused(world, "b", 0) == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.consumer_heartbeat("a", 1).member_epoch == 1


async def test_unknown_groups_and_members_are_refused(world):
    assert refused(world, "m", 1) == ErrorCode.GROUP_ID_NOT_FOUND
    world.consumer_heartbeat("m", 0)
    assert refused(world, "other", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert refused(world, "other", -1) == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_wrong_epoch_is_fenced_but_a_lost_answer_is_forgiven(world):
    world.consumer_heartbeat("a", 0)
    world.consumer_heartbeat("b", 0)
    assert refused(world, "a", 9) == ErrorCode.FENCED_MEMBER_EPOCH
    kept = given_to(world.consumer_heartbeat("a", 1))
    world.consumer_heartbeat("a", 1, {T: kept})
    assert world.consumer_heartbeat("a", 1, {T: kept}).member_epoch == 2
    assert refused(world, "a", 1, {T: [0, 1, 2, 3, 4, 5]}) == ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(world, "a", 1) == ErrorCode.FENCED_MEMBER_EPOCH


async def test_who_leaves_frees_its_partitions(world):
    world.consumer_heartbeat("a", 0)
    world.consumer_heartbeat("b", 0)
    gone = world.consumer_heartbeat("a", -1)
    assert gone.member_epoch == -1
    assert given_to(world.consumer_heartbeat("b", 2)) == [0, 1, 2, 3, 4, 5]


async def test_a_silent_member_is_removed_after_its_session(world):
    world.consumer_heartbeat("a", 0)
    await world.clock.advance(44_999)
    assert world.consumer_group.members
    await world.clock.advance(1)
    assert not world.consumer_group.members
    assert world.consumer_group.epoch == 2


async def test_a_member_that_does_not_give_back_in_time_is_removed(world):
    world.consumer_heartbeat("a", 0, rebalance_timeout_ms=10_000)
    world.consumer_heartbeat("b", 0)
    world.consumer_heartbeat("a", 1)
    await world.clock.advance(9_999)
    world.consumer_heartbeat("a", 1)
    assert "a" in world.consumer_group.members
    await world.clock.advance(1)
    assert "a" not in world.consumer_group.members
    assert given_to(world.consumer_heartbeat("b", 2)) == [0, 1, 2, 3, 4, 5]


async def test_a_change_of_subscription_starts_a_new_epoch(world):
    world.add_topic("u", 1, 2)
    world.consumer_heartbeat("a", 0)
    answer = world.consumer_heartbeat("a", 1, subscribed_topic_names=("t", "u"))
    assert world.consumer_group.epoch == 2
    assert (answer.member_epoch, len(answer.assignment.topic_partitions)) == (2, 2)


async def test_a_topic_that_is_created_later_is_assigned_when_the_group_looks_again(world):
    answer = world.consumer_heartbeat("a", 0, subscribed_topic_names=("later",))
    assert given_to(answer) == []
    world.add_topic("later", 2, 3)
    assert world.consumer_heartbeat("a", 1).assignment is None
    world.consumer_group.refresh_at_ms = 0
    assert given_to(world.consumer_heartbeat("a", 1)) == [0, 1]


async def test_a_group_looks_at_its_topics_every_five_minutes(world):
    world.consumer_heartbeat("a", 0)
    world.add_topic("t", 8, 1)
    for _ in range(10):
        await world.clock.advance(30_000)
        answer = world.consumer_heartbeat("a", world.consumer_group.members["a"].epoch)
    assert given_to(answer) == list(range(8))


async def test_nothing_changes_when_the_store_fails(world):
    world.consumer_heartbeat("a", 0)
    world.store.failure = ErrorCode.NOT_ENOUGH_REPLICAS
    assert refused(world, "b", 0) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(world.consumer_group.members) == ["a"]
    assert world.consumer_group.epoch == 1


# Expressions


async def test_an_expression_subscribes_to_all_topics_it_matches(world):
    world.add_topic("u", 2, 2)
    answer = world.consumer_heartbeat("a", 0, subscribed_topic_names=(), subscribed_topic_regex="t|v")
    assert [each.topic_id for each in answer.assignment.topic_partitions] == [T]
    world.add_topic("v", 1, 3)
    world.consumer_group.refresh_at_ms = 0
    answer = world.consumer_heartbeat("a", 1)
    assert {each.topic_id for each in answer.assignment.topic_partitions} == {T, topic_id(3)}
    assert world.reloaded().consumer_group.members["a"].topic_regex == "t|v"


async def test_an_expression_can_be_changed_and_taken_back(world):
    world.add_topic("u", 2, 2)
    world.consumer_heartbeat("a", 0, subscribed_topic_regex="u")
    assert world.consumer_group.is_subscribed_to("u")
    world.consumer_heartbeat("a", 1, subscribed_topic_regex="")
    assert not world.consumer_group.is_subscribed_to("u")
    assert world.consumer_group.members["a"].topic_regex is None


async def test_what_is_no_expression_is_refused(world):
    assert refused(world, "a", 0, subscribed_topic_regex="(") == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_the_members_of_a_group_have_few_expressions(world):
    """Each heartbeat that looked at a group's topics compiled all of them, hundreds, on the loop."""
    for number in range(MOST_EXPRESSIONS):
        world.consumer_heartbeat(f"m{number}", 0, subscribed_topic_regex=f"t{number}")
    assert len(world.consumers.expressions_to_match(GROUP, "t0")) == MOST_EXPRESSIONS
    with pytest.raises(ApiError) as refusal:
        world.consumers.expressions_to_match(GROUP, "another")
    assert refusal.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_an_expression_finds_no_topic_that_its_member_may_not_know_of(world):
    """Whoever might READ one group learned of all topics: each had a part of the assignment of `.*`."""
    world.add_topic("secret", 6, 2)
    may_see = lambda topic: topic != "secret"  # noqa: E731
    joined = world.consumer_heartbeat("a", 0, subscribed_topic_names=(), subscribed_topic_regex=".*", may_see=may_see)
    assert [each.topic_id for each in joined.assignment.topic_partitions] == [T]
    world.consumer_heartbeat("b", 0, subscribed_topic_names=(), subscribed_topic_regex="s.*", may_see=may_see)
    world.consumer_heartbeat("b", -1, may_see=may_see)
    assert set(world.consumer_group.topics) == {"t"}


# Static members


async def test_a_static_member_may_leave_for_now_and_its_successor_takes_over(world):
    world.consumer_heartbeat("a", 0, instance_id="i")
    world.consumer_heartbeat("a", -2, instance_id="i")
    back = world.consumer_heartbeat("b", 0, instance_id="i")
    assert (back.member_epoch, given_to(back)) == (1, [0, 1, 2, 3, 4, 5])
    assert list(world.consumer_group.members) == ["b"]
    assert world.consumer_group.epoch == 1


async def test_an_instance_id_that_is_held_is_not_released(world):
    world.consumer_heartbeat("a", 0, instance_id="i")
    assert refused(world, "b", 0, instance_id="i") == ErrorCode.UNRELEASED_INSTANCE_ID
    assert refused(world, "b", 1, instance_id="i") == ErrorCode.FENCED_INSTANCE_ID
    assert refused(world, "b", -1, instance_id="i") == ErrorCode.FENCED_INSTANCE_ID
    assert refused(world, "a", 1, instance_id="z") == ErrorCode.UNKNOWN_MEMBER_ID


async def test_who_left_for_now_and_does_not_come_back_is_removed(world):
    world.consumer_heartbeat("a", 0, instance_id="i")
    world.consumer_heartbeat("a", -2, instance_id="i")
    await world.clock.advance(45_000)
    assert not world.consumer_group.members


# Commits, restarts, other protocols


async def test_members_commit_with_their_epoch(world):
    world.consumer_heartbeat("a", 0)
    place = ("t", 0)
    assert (await world.commit({place: 5}, member_id="a", generation=1)) == {place: ErrorCode.NONE}
    for arguments, code in (
        ({"member_id": "a", "generation": 2}, ErrorCode.STALE_MEMBER_EPOCH),
        ({"member_id": "b", "generation": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "a", "generation": 1, "version": 8}, ErrorCode.UNSUPPORTED_VERSION),
        ({}, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        with pytest.raises(ApiError) as refusal:
            await world.commit({place: 6}, **arguments)
        assert refusal.value.code == code
    world.commits.check_fetcher(GROUP, "a", 1)
    world.commits.check_fetcher(GROUP, None, -1)
    with pytest.raises(ApiError) as refusal:
        world.commits.check_fetcher(GROUP, "a", 2)
    assert refusal.value.code == ErrorCode.STALE_MEMBER_EPOCH


async def test_a_group_comes_back_after_a_restart_as_it_was(world):
    world.consumer_heartbeat("a", 0, instance_id="i")
    world.consumer_heartbeat("b", 0)
    world.consumer_heartbeat("a", 1, instance_id="i")
    again, before = world.reloaded().consumer_group, world.consumer_group
    assert (again.epoch, again.assignment_epoch, again.state_name) == (2, 2, "Reconciling")
    assert again.members == before.members
    assert again.targets == before.targets
    assert {partition: again.owner_epoch(T, partition) for partition in range(6)} == {
        partition: before.owner_epoch(T, partition) for partition in range(6)
    }


async def test_an_empty_group_changes_its_protocol_at_once_and_keeps_its_offsets(world):
    ids = await world.form(1)
    await world.commit({("t", 0): 5}, member_id=ids[0], generation=1)
    assert refused(world, "m", 0) == ErrorCode.GROUP_ID_NOT_FOUND
    world.leave(*ids)
    assert world.consumer_heartbeat("m", 0).member_epoch == 1
    assert world.commits.fetch(GROUP, "t", 0).offset == 5
    assert world.reloaded().consumer_group.members


STEPS = st.lists(
    st.tuples(st.sampled_from(["join", "beat", "ack", "leave"]), st.sampled_from("abcd")), min_size=1, max_size=40
)


@settings(max_examples=60)
@given(steps=STEPS)
async def test_no_partition_ever_has_two_owners(steps):
    world = GroupWorld()
    world.add_topic("t", 5, 1)
    holds: dict[str, set[int]] = {}
    epochs: dict[str, int] = {}
    for step, member_id in steps:
        if step == "join" and member_id not in epochs:
            answer, holds[member_id] = world.consumer_heartbeat(member_id, 0), set()
        elif member_id not in epochs:
            continue
        elif step == "leave":
            world.consumer_heartbeat(member_id, -1)
            del holds[member_id], epochs[member_id]
            continue
        else:
            owned = {T: sorted(holds[member_id])} if step == "ack" else None
            answer = world.consumer_heartbeat(member_id, epochs[member_id], owned)
        epochs[member_id] = answer.member_epoch
        told = given_to(answer)
        if told is not None:
            holds[member_id] = set(told)
        everything = sorted(partition for each in holds.values() for partition in each)
        assert len(everything) == len(set(everything)), f"{step} {member_id}: {holds}"
    world.reloaded()
