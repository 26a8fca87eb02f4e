"""Random walks of requests to a group of the consumer protocol (KIP-848), for two brokers asked side by side.

Who is assigned what is left out: assignors look at members in an order of their own. What a member owns it tells each
broker as that broker assigned it.
"""

import random
from collections.abc import Callable
from typing import Any

from stepdown.protocol.messages import consumer_group_describe as cd
from stepdown.protocol.messages import consumer_group_heartbeat as hb
from stepdown.protocol.messages import delete_groups as dg
from stepdown.protocol.messages import describe_groups as desc
from stepdown.protocol.messages import list_groups as ls
from stepdown.protocol.messages import offset_commit as oc
from stepdown.protocol.messages import offset_fetch as of

from .side_by_side import Differs, Name, SideBySide, Unknowable

ACTORS = 3
REBALANCE_MS = 100_000  # nobody times out


class ConsumerWalk:
    """One group, each actor a member at most; topics that exist, and one that does not."""

    def __init__(self, pair: SideBySide, topics: tuple[str, ...], seed: int, name: str = "consumers") -> None:
        self.pair = pair
        self.topics = topics
        self.chance = random.Random(seed)
        self.group = f"{name}-{seed}"
        for side in pair.sides:
            side.groups = (self.group,)
        self.members: dict[int, tuple[Name, int, str | None]] = {}  # id, epoch, instance id
        self.made = 0
        self.apart = False

    async def run(self, steps: int) -> None:
        what: list[Callable[[int], object]] = [
            *[self._join] * 4, *[self._heartbeat] * 14, *[self._leave] * 2, *[self._commit] * 3, *[self._fetch] * 2,
            self._describe, self._describe_classic, self._list, self._delete,
        ]  # fmt: skip
        for _ in range(steps):
            await self.chance.choice(what)(self.chance.randrange(ACTORS))  # type: ignore[misc]

    def _subscription(self) -> list[str]:
        return self.chance.sample([*self.topics, "nope"], self.chance.randint(1, 2))

    async def _join(self, actor: int) -> None:
        chance = self.chance
        known, _, instance = self.members.get(actor, ("", 0, chance.choice([None, None, "static-1", "static-2"])))
        request = hb.ConsumerGroupHeartbeatRequest(
            group_id=self.group if chance.random() < 0.97 else "",
            member_id=chance.choice([known, "", "made-up"]) if chance.random() < 0.2 else known,
            member_epoch=0,
            instance_id=instance,
            rebalance_timeout_ms=REBALANCE_MS if chance.random() < 0.97 else -1,
            subscribed_topic_names=self._subscription() if chance.random() < 0.95 else chance.choice([None, []]),
            server_assignor=chance.choice([None, None, "uniform", "range", "nonsense"]),
            topic_partitions=() if chance.random() < 0.97 else None,
        )
        self.made += 1
        name = f"member-{self.made}"
        answer = await self._ask(actor, request, learns={name: "member_id"})
        self._follow(actor, answer, name, instance)

    def _follow(self, actor: int, answer: Any, name: str, instance: str | None) -> None:
        if answer["error_code"] or answer["member_epoch"] < 0:
            return
        values = self.pair.sides[0].values
        if name in values:
            known = next(text for text, value in values.items() if value == values[name])
            if known != name:
                for side in self.pair.sides:
                    del side.values[name]
            self.members[actor] = (Name(known), answer["member_epoch"], instance)
        for side in self.pair.sides:
            if side.last.assignment is not None:
                side.values[f"assigned-{actor}"] = side.last.assignment.topic_partitions
            else:
                side.values.setdefault(f"assigned-{actor}", ())

    async def _ask(self, actor: int, request: object, version: int = 0, **more: Any) -> Any:
        """The common answer. Raises: Unknowable when both sides' assignments had come apart, for epochs follow them."""
        try:
            return await self.pair.ask(actor, request, version, may_wait=False, **more)
        except Differs:
            if self.apart:
                raise Unknowable from None
            raise
        finally:
            self.apart = self.apart or self._come_apart()

    def _come_apart(self) -> bool:
        theirs, mine = (side.heard(getattr(side.last, "assignment", None), frozenset()) for side in self.pair.sides)
        return bool(theirs != mine)

    async def _heartbeat(self, actor: int) -> None:
        if actor not in self.members:
            return
        member, epoch, instance = self.members[actor]
        chance = self.chance
        request = hb.ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=member,
            member_epoch=epoch + chance.choice([0] * 20 + [-1, 1]),
            instance_id=instance if chance.random() < 0.95 else "static-1",
            subscribed_topic_names=self._subscription() if chance.random() < 0.1 else None,
            server_assignor=chance.choice([None] * 20 + ["range", "nonsense"]),
            topic_partitions=Name(f"assigned-{actor}") if chance.random() < 0.8 else None,
        )
        answer = await self._ask(actor, request)
        if answer["error_code"] in (25, 110):
            del self.members[actor]
        elif not answer["error_code"]:
            self.members[actor] = (member, answer["member_epoch"], instance)
            for side in self.pair.sides:
                if side.last.assignment is not None:
                    side.values[f"assigned-{actor}"] = side.last.assignment.topic_partitions

    async def _leave(self, actor: int) -> None:
        if actor not in self.members:
            return
        member, _, instance = self.members[actor]
        epoch = self.chance.choice([-1, -1, -2])
        request = hb.ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=member, member_epoch=epoch, instance_id=instance
        )
        answer = await self._ask(actor, request)
        if not answer["error_code"]:
            del self.members[actor]

    async def _commit(self, actor: int) -> None:
        member, epoch, instance = self.members.get(actor, ("", -1, None))
        place, offset = self.chance.randint(0, 1), self.chance.randint(0, 99)
        part = oc.OffsetCommitRequestPartition(partition_index=place, committed_offset=offset, committed_metadata="m")
        request = oc.OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=epoch + self.chance.choice([0, 0, 0, -1, 1]),
            member_id=member,
            group_instance_id=instance,
            topics=[oc.OffsetCommitRequestTopic(name=self.topics[0], partitions=[part])],
        )
        await self._ask(actor, request, self.chance.randint(8, 9))

    async def _fetch(self, actor: int) -> None:
        member, epoch, _ = self.members.get(actor, (None, -1, None))
        member = self.chance.choice([member, "ghost"]) if member else None  # Kafka trips over an epoch without a member
        topics = [of.OffsetFetchRequestTopics(name=self.topics[0], partition_indexes=(0, 1, 7))]
        group = of.OffsetFetchRequestGroup(
            group_id=self.group,
            topics=self.chance.choice([topics, None]),
            member_id=member,
            member_epoch=epoch + self.chance.choice([0, 0, 0, 1]) if member else -1,
        )
        await self._ask(actor, of.OffsetFetchRequest(groups=[group], require_stable=True), 9)

    async def _describe(self, actor: int) -> None:
        await self._ask(actor, cd.ConsumerGroupDescribeRequest(group_ids=(self.group, "nope")))

    async def _describe_classic(self, actor: int) -> None:
        await self._ask(actor, desc.DescribeGroupsRequest(groups=(self.group,)), 5)

    async def _list(self, actor: int) -> None:
        states = self.chance.choice([[], ["Stable"], ["empty", "Reconciling"], ["Assigning"]])
        kinds = self.chance.choice([[], ["Consumer"], ["classic"]])
        await self._ask(actor, ls.ListGroupsRequest(states_filter=states, types_filter=kinds), 5)

    async def _delete(self, actor: int) -> None:
        await self._ask(actor, dg.DeleteGroupsRequest(groups_names=(self.group,)), 2)
