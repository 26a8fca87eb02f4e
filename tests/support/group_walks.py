"""Random walks of classic group requests, most of them sensible, for two brokers asked side by side."""

import random
from collections.abc import Callable

from stepdown.protocol.messages import delete_groups as dg
from stepdown.protocol.messages import describe_groups as desc
from stepdown.protocol.messages import heartbeat as hb
from stepdown.protocol.messages import join_group as jg
from stepdown.protocol.messages import leave_group as lg
from stepdown.protocol.messages import list_groups as ls
from stepdown.protocol.messages import offset_commit as oc
from stepdown.protocol.messages import offset_delete as od
from stepdown.protocol.messages import offset_fetch as of
from stepdown.protocol.messages import sync_group as sg

from .side_by_side import Name, SideBySide

ACTORS = 4
SESSION_MS = 60_000  # nobody times out


class GroupWalk:
    """One group, some actors, and what they have been told."""

    def __init__(self, pair: SideBySide, topics: tuple[str, str], seed: int, name: str = "walk") -> None:
        self.pair = pair
        self.topics = topics  # with 2 partitions, and one that does not exist
        self.chance = random.Random(seed)
        self.groups = (f"{name}-{seed}", f"{name}-other-{seed}", "")
        for side in pair.sides:
            side.groups = self.groups
        self.members: list[str | Name] = ["", "ghost"]
        self.own: dict[int, Name] = {}
        self.generation = 1
        self.made = 0

    async def run(self, steps: int) -> None:
        what: list[Callable[[int], object]] = [
            *[self._join] * 8, *[self._sync] * 7, *[self._heartbeat] * 3, *[self._commit] * 4, *[self._fetch] * 3,
            *[self._leave] * 2, self._describe, self._list, self._delete, self._delete_offsets,
        ]  # fmt: skip
        for _ in range(steps):
            free = [actor for actor in range(ACTORS) if actor not in self.pair.pending]
            if not free:
                self.pair.log.append("all wait")
                return
            await self.chance.choice(what)(self.chance.choice(free))  # type: ignore[misc]

    # What may be said

    def _group(self) -> str:
        return self.chance.choices(self.groups, weights=(40, 1, 0.5))[0]

    def _member(self, actor: int) -> str | Name:
        if actor in self.own and self.chance.random() < 0.85:
            return self.own[actor]
        return self.chance.choice(self.members)

    def _instance(self, since: int, version: int) -> str | None:
        return self.chance.choice([None, None, None, "static-1", "static-2"]) if version >= since else None

    def _generation(self) -> int:
        return self.generation + self.chance.choice([0] * 12 + [-1, 1, -100])

    async def _join(self, actor: int) -> None:
        version = self.chance.randint(0, 9)
        chance = self.chance
        protocols = chance.choice([["a", "b"]] * 6 + [["b"], ["a"], ["c"], [], ["b", "a"]])
        request = jg.JoinGroupRequest(
            group_id=self._group(),
            session_timeout_ms=chance.choice([SESSION_MS] * 20 + [1, 10_000_000]),
            rebalance_timeout_ms=SESSION_MS * 2 if version else -1,
            member_id=self.own[actor]
            if actor in self.own and chance.random() < 0.8
            else self.chance.choice(["", "", "", "ghost"]),
            group_instance_id=self._instance(5, version),
            protocol_type=chance.choice(["consumer"] * 20 + ["connect", ""]),
            protocols=[jg.JoinGroupRequestProtocol(name=name, metadata=b"m%d" % actor) for name in protocols],
            reason="why" if version >= 8 else None,
        )
        self.made += 1
        name = f"member-{self.made}"
        answer = await self.pair.ask(actor, request, version, learns={name: "member_id"})
        if name in self.pair.sides[0].values:
            self._learnt(actor, name)
        if answer and answer != "hung up" and answer["generation_id"] > 0:
            self.generation = answer["generation_id"]

    def _learnt(self, actor: int, name: str) -> None:
        values = self.pair.sides[0].values
        known = next(text for text, value in values.items() if value == values[name])
        if known != name:
            for side in self.pair.sides:
                del side.values[name]
        self.own[actor] = Name(known)
        if self.own[actor] not in self.members:
            self.members.append(self.own[actor])

    async def _sync(self, actor: int) -> None:
        version = self.chance.randint(0, 5)
        real = [member for member in self.members if isinstance(member, Name)]
        given = real if self.chance.random() < 0.7 else []
        kind, name = self.chance.choice(
            [("consumer", "b")] * 4 + [("consumer", "a")] * 4 + [(None, None), ("connect", "a"), ("consumer", "x")]
        )
        await self.pair.ask(
            actor,
            sg.SyncGroupRequest(
                group_id=self._group(),
                generation_id=self._generation(),
                member_id=self._member(actor),
                group_instance_id=self._instance(3, version),
                protocol_type=kind if version >= 5 else None,
                protocol_name=name if version >= 5 else None,
                assignments=[
                    sg.SyncGroupRequestAssignment(member_id=member, assignment=b"x%d" % index)
                    for index, member in enumerate(given)
                ],
            ),
            version,
        )

    async def _heartbeat(self, actor: int) -> None:
        version = self.chance.randint(0, 4)
        request = hb.HeartbeatRequest(
            group_id=self._group(),
            generation_id=self._generation(),
            member_id=self._member(actor),
            group_instance_id=self._instance(3, version),
        )
        await self.pair.ask(actor, request, version)

    async def _leave(self, actor: int) -> None:
        version = self.chance.randint(0, 5)
        if version < 3:
            request = lg.LeaveGroupRequest(group_id=self._group(), member_id=self._member(actor))
        else:
            who = [
                lg.MemberIdentity(member_id=self._member(actor), group_instance_id=self._instance(3, version))
                for _ in range(self.chance.randint(0, 2))
            ]
            request = lg.LeaveGroupRequest(group_id=self._group(), members=who)
        await self.pair.ask(actor, request, version)

    async def _commit(self, actor: int) -> None:
        version = self.chance.randint(1, 9)
        member, generation = self.chance.choice([(self._member(actor), self._generation()), ("", -1)])
        topics = [
            oc.OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    oc.OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=self.chance.choice([0, 5, 7, -1, 1 << 40]),
                        committed_leader_epoch=self.chance.choice([-1, 0, 3]) if version >= 6 else -1,
                        commit_timestamp=-1,
                        committed_metadata=self.chance.choice([None, "", "meta", "x" * 20, "x" * 21]),
                    )
                    for index in self.chance.sample(range(-1, 4), self.chance.randint(1, 3))
                ],
            )
            for topic in self.chance.sample([*self.topics, "bad name"], self.chance.randint(0, 3))
        ]
        request = oc.OffsetCommitRequest(
            group_id=self._group(),
            generation_id_or_member_epoch=generation,
            member_id=member,
            topics=topics,
            group_instance_id=self._instance(7, version),
            retention_time_ms=self.chance.choice([-1, 100_000_000]) if 2 <= version <= 4 else -1,
        )
        await self.pair.ask(actor, request, version)

    async def _fetch(self, actor: int) -> None:
        version = self.chance.randint(1, 9)
        partitions = self.chance.choice([[0, 1], [0, 9], [-1]])
        stable = version >= 7 and self.chance.random() < 0.5
        everything = version >= 2 and self.chance.random() < 0.4
        if version < 8:
            asked = [of.OffsetFetchRequestTopic(name=topic, partition_indexes=partitions) for topic in self.topics]
            request = of.OffsetFetchRequest(
                group_id=self._group(), topics=None if everything else asked, require_stable=stable
            )
        else:
            topics = [of.OffsetFetchRequestTopics(name=topic, partition_indexes=partitions) for topic in self.topics]
            groups = [
                of.OffsetFetchRequestGroup(
                    group_id=group,
                    topics=None if everything else topics,
                    member_id=self._member(actor) if version >= 9 and self.chance.random() < 0.3 else None,
                    member_epoch=self._generation() if version >= 9 and self.chance.random() < 0.3 else -1,
                )
                for group in self.chance.sample(self.groups, self.chance.randint(1, 3))
            ]
            request = of.OffsetFetchRequest(groups=groups, require_stable=stable)
        await self.pair.ask(actor, request, version)

    async def _describe(self, actor: int) -> None:
        version = self.chance.randint(0, 5)
        request = desc.DescribeGroupsRequest(groups=self.groups, include_authorized_operations=version >= 3)
        await self.pair.ask(actor, request, version)

    async def _list(self, actor: int) -> None:
        version = self.chance.randint(0, 5)
        states = (
            self.chance.choice([[], ["Stable"], ["empty", "PreparingRebalance"], ["nonsense"]]) if version >= 4 else []
        )
        kinds = self.chance.choice([[], ["classic"], ["Consumer"], ["nonsense"]]) if version >= 5 else []
        await self.pair.ask(actor, ls.ListGroupsRequest(states_filter=states, types_filter=kinds), version)

    async def _delete(self, actor: int) -> None:
        names = self.chance.choice([self.groups[:1], self.groups, ("nope",), (self.groups[0], self.groups[0])])
        await self.pair.ask(actor, dg.DeleteGroupsRequest(groups_names=names), self.chance.randint(0, 2))

    async def _delete_offsets(self, actor: int) -> None:
        topics = [
            od.OffsetDeleteRequestTopic(
                name=topic, partitions=[od.OffsetDeleteRequestPartition(partition_index=p) for p in (0, 1, 9)]
            )
            for topic in self.topics
        ]
        await self.pair.ask(actor, od.OffsetDeleteRequest(group_id=self._group(), topics=topics), 0)
