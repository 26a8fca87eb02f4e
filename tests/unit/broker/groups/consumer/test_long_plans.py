"""A member that joined a group of 9,000 topics held the loop for 0.1 s. A worker plans that, and the group may change
meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from stepdown.broker.groups.caller import Caller
from stepdown.broker.groups.consumer.changes import ChangeWithResponse
from stepdown.broker.groups.consumer.long_plans import LongPlans
from stepdown.protocol.errors import ApiError, ErrorCode
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.groups import GROUP, GroupWorld

NOBODY: Any = None


def joining(member_id: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=("t",),
        topic_partitions=[],
    )


class Topics:
    """All have 400 partitions."""

    def count_partitions(self, name: str) -> int:
        return 400

    def names(self) -> list[str]:
        return ["t", "u", "v"]


class Workers:
    """Once the first plan is made, and before it is known, something `happens`."""

    def __init__(self) -> None:
        self.happens: Callable[[], object] = lambda: None
        self.done = 0

    async def run_in_worker(self, work: Callable[[], ChangeWithResponse[Any]]) -> ChangeWithResponse[Any]:
        plan = work()
        self.done += 1
        happens, self.happens = self.happens, lambda: None
        happens()
        await asyncio.sleep(0)
        return plan


@pytest.fixture
def world() -> GroupWorld:
    world = GroupWorld()
    world.add_topic("t", 4, 1)
    return world


@pytest.fixture
def workers() -> Workers:
    return Workers()


async def check_answerable(group_id: str) -> None:
    pass


def join(world: GroupWorld, plans: LongPlans, member_id: str) -> Awaitable[ChangeWithResponse[Any]]:
    plan = partial(world.heartbeats.plan_heartbeat, joining(member_id), Caller(version=1))
    return plans.plan_in_worker(GROUP, plan)


def plans_of(world: GroupWorld, workers: Workers) -> LongPlans:
    return LongPlans(workers.run_in_worker, world.groups, NOBODY, check_answerable)


@pytest.mark.parametrize(
    ("request_", "is_long"),
    [
        ({"member_epoch": 0, "subscribed_topic_names": ("t", "u")}, False),
        ({"member_epoch": 0, "subscribed_topic_names": ("t", "u", "v")}, True),
        ({"member_epoch": 0, "subscribed_topic_regex": ".*"}, True),
        ({"member_epoch": -1}, False),
    ],
    ids=["few partitions", "many partitions", "an expression", "leaves"],
)
def test_a_heartbeat_with_many_partitions_is_long(world: GroupWorld, request_: dict[str, Any], is_long: bool) -> None:
    plans = LongPlans(NOBODY, world.groups, Topics(), check_answerable)  # type: ignore[arg-type]
    assert plans.is_long(ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="a", **request_), 0) is is_long


def test_a_heartbeat_that_changes_nothing_in_a_large_group_is_short(world: GroupWorld) -> None:
    world.add_topic("t", 2_000, 1)
    epoch = world.consumer_heartbeat("a", 0).member_epoch
    plans = LongPlans(NOBODY, world.groups, Topics(), check_answerable)  # type: ignore[arg-type]
    beat = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="a", member_epoch=epoch)
    now_ms = world.timers.now_ms()
    assert not plans.is_long(beat, now_ms)
    world.consumer_heartbeat("b", 0)
    assert plans.is_long(beat, now_ms)


async def test_a_group_that_nobody_changes_is_planned_once(world: GroupWorld, workers: Workers) -> None:
    plan = await join(world, plans_of(world, workers), "a")
    assert world.consumers.store_and_respond(plan).member_epoch == 1
    assert workers.done == 1
    assert world.reloaded().groups.get(GROUP).members.keys() == {"a"}


async def test_a_plan_of_a_group_that_has_changed_is_made_again(world: GroupWorld, workers: Workers) -> None:
    world.consumer_heartbeat("a", 0)
    workers.happens = lambda: world.consumer_heartbeat("b", 0)
    response = world.consumers.store_and_respond(await join(world, plans_of(world, workers), "c"))
    assert (workers.done, response.member_epoch) == (2, 3)
    assert world.consumer_group.members.keys() == world.consumer_group.targets.keys() == {"a", "b", "c"}


async def test_a_plan_of_topics_that_have_changed_is_made_again(world: GroupWorld, workers: Workers) -> None:
    def grow() -> None:
        world.add_topic("t", 8, 1)
        world.consumer_group.refresh_at_ms = 0

    world.consumer_heartbeat("a", 0)
    workers.happens = grow
    world.consumers.store_and_respond(await join(world, plans_of(world, workers), "b"))
    assert world.consumer_group.partitions == 8


async def test_a_member_that_is_gone_meanwhile_is_not_known(world: GroupWorld, workers: Workers) -> None:
    world.consumer_heartbeat("a", 0)
    world.consumer_heartbeat("b", 0)
    request = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="b", member_epoch=2)
    workers.happens = lambda: world.consumer_heartbeat("b", -1)
    with pytest.raises(ApiError) as caught:
        await plans_of(world, workers).plan_in_worker(
            GROUP, partial(world.heartbeats.plan_heartbeat, request, Caller(version=1))
        )
    assert caught.value.code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_two_members_of_a_group_are_planned_one_after_the_other(world: GroupWorld, workers: Workers) -> None:
    plans = plans_of(world, workers)

    async def enter(member_id: str) -> int:
        return int(world.consumers.store_and_respond(await join(world, plans, member_id)).member_epoch)

    assert await asyncio.gather(enter("a"), enter("b"), enter("c")) == [1, 2, 3]
    assert workers.done == 3


async def test_a_group_that_is_another_broker_s_meanwhile_is_not_planned_again(
    world: GroupWorld, workers: Workers
) -> None:
    async def refuse(group_id: str) -> None:
        raise ApiError(f"{group_id} is not led here", ErrorCode.NOT_COORDINATOR)

    world.consumer_heartbeat("a", 0)
    workers.happens = lambda: world.groups.remove(GROUP)
    with pytest.raises(ApiError, match="not led here"):
        await join(world, LongPlans(workers.run_in_worker, world.groups, NOBODY, refuse), "b")
    assert workers.done == 1
