"""Changes of large groups are planned in a worker thread: 9,000 topics, or 20,000 partitions, took up to 0.1 s.

Planning only reads. If the group has changed meanwhile, the plan is thrown away and made again; a group has one plan
in the making at a time. Small changes, and those that remove members, are planned on the event loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ....protocol.errors import ApiError
from ....protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ..classic.group import ClassicGroup
from ..group_registry import GroupRegistry
from .changes import ChangeWithResponse
from .group import ConsumerGroup
from .topic_lookup import TopicLookup

R = TypeVar("R")
MOST_AT_ONCE = 1_000
"""Up to this many members, topic names and partitions, a change is planned in one step of the event loop."""


class LongPlans:
    """Plans changes in `run_in_worker`; `check_answerable` raises ApiError for a group of another broker."""

    def __init__(
        self,
        run_in_worker: Callable[[Callable[[], ChangeWithResponse[Any]]], Awaitable[ChangeWithResponse[Any]]],
        groups: GroupRegistry,
        topics: TopicLookup,
        check_answerable: Callable[[str], Awaitable[None]],
    ) -> None:
        self._run_in_worker = run_in_worker
        self._groups = groups
        self._topics = topics
        self._check_answerable = check_answerable
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def is_large(self, group: ConsumerGroup) -> bool:
        return len(group.members) + group.partitions > MOST_AT_ONCE

    def is_long(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> bool:
        """Whether planning a heartbeat may take long. Not if it leaves, or changes nothing in a settled group."""
        group = self._groups.find(request.group_id)
        if request.member_epoch < 0 or isinstance(group, ClassicGroup):
            return False
        names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
        if group is not None:
            if names is None and not pattern and _is_settled(group, request.member_id, now_ms):
                return False
            if self.is_large(group):
                return True
        return self._have_many_partitions(names or ()) or (
            bool(pattern) and self._have_many_partitions(self._topics.names())
        )

    def _have_many_partitions(self, names: Iterable[str]) -> bool:
        count = 0
        for name in names:
            count += 1 + self._topics.count_partitions(name)
            if count > MOST_AT_ONCE:
                return True
        return False

    async def plan_in_worker(
        self, group_id: str, make_plan: Callable[[], ChangeWithResponse[R]]
    ) -> ChangeWithResponse[R]:
        """Returns a plan that fits the group as it is on return. Raises: ApiError."""

        def make_and_encode() -> ChangeWithResponse[R]:
            plan = make_plan()
            plan.change.encode_records()
            return plan

        lock = self._locks.setdefault(group_id, asyncio.Lock())
        async with lock:
            while not isinstance(self._groups.find(group_id), ClassicGroup):
                before = self._state_of(group_id)
                try:
                    plan = await self._run_in_worker(make_and_encode)
                except (ApiError, RuntimeError):  # a dictionary may have changed while it was walked through
                    await self._check_answerable(group_id)
                    if self._state_of(group_id) == before:
                        raise
                else:
                    await self._check_answerable(group_id)
                    if self._state_of(group_id) == before:
                        return plan
            return make_plan()

    def _state_of(self, group_id: str) -> tuple[object, int, int]:
        group = self._groups.find(group_id)
        return (group, group.changes, group.refresh_at_ms) if isinstance(group, ConsumerGroup) else (group, 0, 0)


def _is_settled(group: ConsumerGroup, member_id: str, now_ms: int) -> bool:
    member = group.members.get(member_id)
    return (
        member is not None
        and group.epoch == group.assignment_epoch
        and member.is_reconciled_to(group.epoch)
        and group.refresh_at_ms > now_ms
    )
