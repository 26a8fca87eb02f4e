"""How a member comes to its target assignment, one heartbeat after the other."""

import pytest
from stepdown.broker.groups.consumer.member import ConsumerMember, MemberState
from stepdown.broker.groups.consumer.reconciliation import reconcile
from stepdown.protocol.errors import ApiError, ErrorCode
from support.groups import topic_id

T = topic_id(1)


def nobody(topic, partition):
    return -1


def others_have(*partitions):
    return lambda topic, partition: 3 if partition in partitions else -1


def has(*partitions):
    return {T: frozenset(partitions)} if partitions else {}


def member(epoch=1, state=MemberState.STABLE, assigned=(), revoking=()):
    return ConsumerMember(
        member_id="m", epoch=epoch, previous_epoch=epoch, state=state, assigned=has(*assigned), revoking=has(*revoking)
    )


def shown(member):
    return member.epoch, member.state, dict(member.assigned), dict(member.revoking)


def test_a_member_at_the_targets_epoch_stays_as_it_is():
    present = member(assigned=(0,))
    assert reconcile(present, 1, has(0), nobody, None) is present


def test_free_partitions_are_taken_at_once():
    after = reconcile(member(), 2, has(0, 1), nobody, None)
    assert shown(after) == (2, MemberState.STABLE, has(0, 1), {})
    assert after.previous_epoch == 1


def test_a_member_gives_back_first_and_stays_in_its_epoch_until_it_has():
    revoking = reconcile(member(assigned=(0, 1)), 2, has(1, 2), nobody, None)
    assert shown(revoking) == (1, MemberState.UNREVOKED_PARTITIONS, has(1), has(0))
    assert reconcile(revoking, 2, has(1, 2), nobody, has(0, 1)) is revoking
    assert reconcile(revoking, 2, has(1, 2), nobody, None) is revoking
    done = reconcile(revoking, 2, has(1, 2), nobody, has(1))
    assert shown(done) == (2, MemberState.STABLE, has(1, 2), {})


def test_a_member_that_already_gave_back_goes_on_at_once():
    after = reconcile(member(assigned=(0, 1)), 2, has(1), nobody, has(1))
    assert shown(after) == (2, MemberState.STABLE, has(1), {})


def test_partitions_of_others_are_waited_for_in_the_new_epoch():
    waiting = reconcile(member(assigned=(0,)), 2, has(0, 1, 2), others_have(1), None)
    assert shown(waiting) == (2, MemberState.UNRELEASED_PARTITIONS, has(0, 2), {})
    again = reconcile(waiting, 2, has(0, 1, 2), others_have(1), None)
    assert shown(again) == shown(waiting)
    done = reconcile(again, 2, has(0, 1, 2), nobody, None)
    assert shown(done) == (2, MemberState.STABLE, has(0, 1, 2), {})


def test_a_newer_target_while_giving_back_is_followed_from_the_next_epoch():
    revoking = member(epoch=1, state=MemberState.UNREVOKED_PARTITIONS, assigned=(1,), revoking=(0,))
    after = reconcile(revoking, 5, has(2), nobody, has(1))
    assert shown(after) == (2, MemberState.UNREVOKED_PARTITIONS, {}, has(1))


def test_a_member_of_an_unknown_state_has_to_begin_anew():
    strange = member(state=MemberState.UNKNOWN, assigned=(0,))
    with pytest.raises(ApiError) as refusal:
        reconcile(strange, 2, has(0), nobody, has(0))
    assert refusal.value.code == ErrorCode.FENCED_MEMBER_EPOCH
    assert reconcile(strange, 2, has(0), nobody, {}).state is MemberState.STABLE
