"""JoinGroup to a classic group."""

import pytest
from stepdown.broker.groups import coordinator
from stepdown.broker.groups.classic import rebalance
from stepdown.broker.groups.classic.state_table import ClassicGroupState
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from support.clock import settle
from support.fetching import connect
from support.groups import SUBSCRIPTION, GroupWorld
from support.running import running_broker


async def answer(future):
    await settle()
    return future.result()


@pytest.mark.parametrize("version", [4, 9])
async def test_a_new_dynamic_member_is_first_told_its_id(world, version):
    first = await answer(world.join(version=version))
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert first.member_id.startswith("client-")
    assert world.group.pending_members == {first.member_id}
    assert not world.group.members

    world.join(first.member_id, version=version)
    assert list(world.group.members) == [first.member_id]
    assert not world.group.pending_members


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_older_clients_are_spared_the_round_trip(world, version):
    joined = world.join(version=version)
    await world.clock.advance(0)
    assert joined.result().error_code == ErrorCode.NONE
    assert joined.result().generation_id == 1


async def test_a_pending_member_is_forgotten_when_its_session_time_has_passed(world):
    first = await answer(world.join(session_ms=10_000))
    await world.clock.advance(9_999)
    assert world.group.pending_members
    await world.clock.advance(1)
    assert not world.group.pending_members
    late = await answer(world.join(first.member_id))
    assert late.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_rebalance_waits_for_a_pending_member(world):
    ids = await world.form(1)
    await answer(world.join())
    rejoined = world.join(ids[0], version=3)
    await settle()
    assert not rejoined.done()
    await world.clock.advance(10_000)
    assert rejoined.result().generation_id == 2


async def test_the_leader_hears_of_all_members_and_others_of_none(world):
    ids = await world.form(3)
    joins = [world.join(each) for each in ids]
    await settle()
    answers = [each.result() for each in joins]
    assert {each.leader for each in answers} == {ids[0]}
    assert [len(each.members) for each in answers] == [3, 0, 0]
    assert {(each.member_id, each.metadata) for each in answers[0].members} == {(each, SUBSCRIPTION) for each in ids}


async def test_an_empty_group_refuses_a_member_without_protocol_type(world):
    refused = await answer(world.join(protocol_type=""))
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_an_empty_group_refuses_a_member_without_protocols(world):
    refused = await answer(world.join(protocols={}))
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_a_member_of_another_protocol_type_is_refused(world):
    await world.form(1)
    refused = await answer(world.join(protocol_type="connect"))
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_a_member_without_a_protocol_that_all_support_is_refused(world):
    world.join(version=3, protocols={"range": b"", "roundrobin": b""})
    world.join(version=3, protocols={"range": b""})
    refused = await answer(world.join(protocols={"roundrobin": b""}))
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_the_protocol_is_the_first_choice_of_most_among_those_all_support(world):
    choices = [
        {"a": b"", "b": b"", "c": b""},
        {"b": b"", "a": b""},
        {"c": b"", "b": b"", "a": b""},
        {"c": b"", "b": b"", "a": b""},
    ]
    joins = [world.join(version=3, protocols=each) for each in choices]
    await world.clock.advance(0)
    assert {each.result().protocol_name for each in joins} == {"b"}


async def test_a_follower_that_rejoins_unchanged_gets_the_current_generation_at_once(world):
    ids = await world.form(2)
    again = await answer(world.join(ids[1]))
    assert (again.error_code, again.generation_id, again.members) == (ErrorCode.NONE, 1, ())
    assert world.group.state is ClassicGroupState.STABLE


async def test_a_leader_that_rejoins_always_starts_a_rebalance(world):
    ids = await world.form(2)
    again = world.join(ids[0])
    await settle()
    assert not again.done()
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


async def test_a_follower_that_changes_its_metadata_starts_a_rebalance(world):
    ids = await world.form(2)
    world.join(ids[1], protocols={"range": b"other"})
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


async def test_a_member_that_lost_its_answer_gets_it_again_while_others_sync(world):
    joins = [world.join(version=3) for _ in range(2)]
    await world.clock.advance(0)
    ids = [each.result().member_id for each in joins]
    again = [await answer(world.join(each)) for each in ids]
    assert [each.generation_id for each in again] == [1, 1]
    assert [len(each.members) for each in again] == [2, 0]
    assert world.group.state is ClassicGroupState.COMPLETING_REBALANCE


async def test_a_member_that_changes_while_others_sync_starts_over(world):
    joins = [world.join(version=3) for _ in range(2)]
    await world.clock.advance(0)
    ids = [each.result().member_id for each in joins]
    waiting = world.sync(ids[1])
    await settle()
    world.join(ids[0], protocols={"range": b"other"})
    await settle()
    assert waiting.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group.state is ClassicGroupState.PREPARING_REBALANCE


async def test_an_unknown_member_id_is_refused(world):
    await world.form(1)
    refused = await answer(world.join("nobody"))
    assert (refused.error_code, refused.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "nobody")


async def test_a_member_of_an_empty_group_has_to_begin_anew(world):
    ids = await world.form(1)
    world.leave(ids[0])
    refused = await answer(world.join(ids[0]))
    assert refused.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_full_group_takes_nobody_but_its_members():
    world = GroupWorld(max_size=2)
    ids = await world.form(2)
    refused = await answer(world.join(version=3))
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    accepted = await answer(world.join(ids[1]))
    assert accepted.error_code == ErrorCode.NONE


async def test_the_last_to_rejoin_a_group_that_is_too_large_has_to_go():
    world = GroupWorld(max_size=3)
    ids = await world.form(3)
    world.joins._settings = world.rebalancer._settings = GroupWorld(max_size=2).settings
    world.join(ids[0])
    world.join(ids[1])
    refused = await answer(world.join(ids[2]))
    assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert set(world.group.members) == set(ids[:2])


async def test_a_second_join_of_a_waiting_member_ends_the_first(world):
    await world.form(2)
    ids = list(world.group.members)
    first = world.join(ids[0])
    second = world.join(ids[0])
    await settle()
    assert first.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert not second.done()
    assert world.group.waiting_join_count == 1


async def test_the_leader_stays_when_it_rejoins_and_another_takes_over_when_it_does_not(world):
    ids = await world.form(3)
    joins = [world.join(each, protocols={"range": b"y"}) for each in reversed(ids)]
    await settle()
    assert {each.result().leader for each in joins} == {ids[0]}
    await world.settle_syncs(ids)

    joins = [world.join(each, protocols={"range": b"x"}) for each in ids[1:]]
    await world.clock.advance(60_000)
    leaders = {each.result().leader for each in joins}
    assert leaders <= set(ids[1:])
    assert len(leaders) == 1


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
async def test_a_refused_join_names_no_protocol(tmp_path, version, name):
    """From v7 on, where no protocol is null, refusals said ""."""
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        request = JoinGroupRequest(group_id="g", session_timeout_ms=1, member_id="", protocol_type="consumer")
        answer = await client.send(request, version)
        assert (answer.error_code, answer.protocol_name) == (ErrorCode.INVALID_SESSION_TIMEOUT, name)


async def test_a_member_with_very_many_protocols_is_refused(tmp_path):
    """A hundred members with 19,000 each took 250 MB."""
    request = joining("g", 101)
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        for version in (0, 9):
            assert (await client.send(request, version)).error_code == ErrorCode.INVALID_REQUEST


async def test_protocols_that_no_member_has_are_forgotten(world):
    """A member that joined again with ever new ones made the group grow."""
    (member_id,) = await world.form(1)
    for name in ("a", "b", "c"):
        protocols = (JoinGroupRequestProtocol(name=name, metadata=b""),)
        world.group.set_protocols(world.group.members[member_id], protocols)
    assert dict(world.group._supported) == {"c": 1}


async def test_ids_that_clients_do_not_come_back_with_are_forgotten_when_they_are_many(world, monkeypatch):
    """40,000 groups with one each took 111 MB, for 2.4 MB sent."""
    monkeypatch.setattr(world.rebalancer.handed_out, "most", 2)
    forgotten = []
    world.rebalancer.on_unused = forgotten.append
    ids = [(await answer(world.join())).member_id for _ in range(3)]
    assert world.group.pending_members == set(ids[1:])
    assert not forgotten
    late = await answer(world.join(ids[0]))
    assert late.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_the_id_of_a_member_that_has_joined_is_kept_by_its_group_alone(world):
    """Groups that were gone stayed in memory, up to 5,000 of them."""
    await world.form(2)
    assert len(world.rebalancer.handed_out) == 0


async def test_of_many_groups_that_nobody_joins_the_oldest_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(rebalance, "MOST_PENDING_MEMBERS", 2)
    monkeypatch.setattr(coordinator, "MOST_UNUSED_GROUPS", 1)
    async with running_broker(tmp_path) as broker, await connect(broker) as client:
        for name in ("a", "b", "c"):
            assert (await client.send(joining(name, 1), 4)).error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert (await client.send(joining("d", 0), 4)).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert [group.group_id for group in broker.groups.groups] == ["b", "c", "d"]


def joining(group_id, protocols):
    """A JoinGroup without member id, with so many protocols."""
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        protocol_type="consumer",
        protocols=tuple(JoinGroupRequestProtocol(name=f"p{number}", metadata=b"") for number in range(protocols)),
    )
