"""Random walks of fetches in sessions, offsets by time and deletions of records, for two brokers asked side by side."""

import random
from collections.abc import Callable
from uuid import UUID

from stepdown.protocol.messages import delete_records as dr
from stepdown.protocol.messages import fetch as fe
from stepdown.protocol.messages import list_offsets as lo
from stepdown.protocol.messages import offset_for_leader_epoch as ol
from stepdown.protocol.messages import produce as pr

from .record_sets import NOW, record_set, records
from .side_by_side import Name, SideBySide

ACTORS = 2
PARTITIONS = 3
TIMEOUT_MS = 10_000


class FetchWalk:
    """Two connections, each with a session of its own at most, and topics of `PARTITIONS` partitions.

    The names `topic-0`, ... are those of the topics' ids.
    """

    def __init__(self, pair: SideBySide, topics: tuple[str, ...], seed: int) -> None:
        self.pair = pair
        self.topics = topics
        self.chance = random.Random(seed)
        self.sessions: dict[int, tuple[Name | int, int, int]] = {}  # id, next epoch, version
        self.made = 0

    async def run(self, steps: int) -> None:
        what: list[Callable[[int], object]] = [
            *[self._fetch] * 10, *[self._produce] * 4, *[self._list_offsets] * 3, self._delete, self._epochs,
        ]  # fmt: skip
        for _ in range(steps):
            await self.chance.choice(what)(self.chance.randrange(ACTORS))  # type: ignore[misc]

    def _offset(self) -> int:
        return self.chance.choice([0, 0, 1, 3, 6, 7, 12, 30, 1 << 40, -1])

    def _some_topics(self) -> list[int]:
        return self.chance.sample(range(len(self.topics)), self.chance.randint(0, len(self.topics)))

    def _some_partitions(self) -> list[int]:
        return self.chance.sample(range(PARTITIONS + (self.chance.random() < 0.1)), self.chance.randint(1, PARTITIONS))

    async def _fetch(self, actor: int) -> None:
        chance = self.chance
        session, epoch, version = self.sessions.get(actor, (0, 0, 0))
        kind = chance.random()
        if session == 0 or kind < 0.1:
            version = chance.randint(4, 17)
            session, epoch = (0, chance.choice([0, 0, 0, -1])) if version >= 7 else (0, -1)
        elif kind < 0.2:
            epoch = chance.choice([epoch + 1, -1, 0, epoch - 1])
        elif kind < 0.25:
            session = 1
        topics = []
        for index in self._some_topics():
            parts = [
                fe.FetchPartition(
                    partition=partition,
                    current_leader_epoch=chance.choice([-1] * 8 + [0, 5]) if version >= 9 else -1,
                    fetch_offset=self._offset(),
                    last_fetched_epoch=chance.choice([-1] * 8 + [0, 3]) if version >= 12 else -1,
                    partition_max_bytes=chance.choice([1 << 20, 1 << 20, 200, 1]),
                )
                for partition in self._some_partitions()
            ]
            topics.append(self._topic(version, index, parts))
        forgotten = []
        if version >= 7 and epoch > 0:
            for index in self._some_topics()[:1]:
                named = {"topic_id": Name(f"topic-{index}")} if version >= 13 else {"topic": self.topics[index]}
                forgotten.append(fe.ForgottenTopic(partitions=self._some_partitions(), **named))
        request = fe.FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=chance.choice([0, 1]),
            max_bytes=chance.choice([1 << 20, 1 << 20, 250]),
            isolation_level=chance.randint(0, 1),
            session_id=session,
            session_epoch=epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
        )
        self.made += 1
        name = f"session-{self.made}"
        learns = {} if isinstance(session, Name) and epoch > 0 else {name: "session_id"}
        answer = await self.pair.ask(actor, request, version, learns=learns, may_wait=False)
        if answer == "hung up":
            raise AssertionError(self.pair.log[-1])
        self._follow(actor, answer, session, epoch, version, name)

    def _topic(self, version: int, index: int, parts: list[fe.FetchPartition]) -> fe.FetchTopic:
        if version < 13:
            return fe.FetchTopic(topic=self.topics[index] if self.chance.random() < 0.95 else "nope", partitions=parts)
        topic_id = Name(f"topic-{index}") if self.chance.random() < 0.95 else UUID(int=7)
        return fe.FetchTopic(topic_id=topic_id, partitions=parts)

    def _follow(self, actor: int, answer: dict, session: Name | int, epoch: int, version: int, name: str) -> None:
        """Keeps the session that the answer opens or goes on with."""
        values = self.pair.sides[0].values
        if answer["error_code"] or answer["session_id"] == 0:
            if not answer["error_code"]:
                self.sessions.pop(actor, None)
            for side in self.pair.sides:
                side.values.pop(name, None)
        elif epoch == 0 and name in values:
            self.sessions[actor] = (Name(name), 1, version)
        elif isinstance(session, Name):
            self.sessions[actor] = (session, epoch + 1, version)

    async def _produce(self, actor: int) -> None:
        """Small sets, late and early."""
        chance = self.chance
        times = [NOW + chance.choice([-50, 0, 10, 10, 90]) for _ in range(chance.randint(1, 4))]
        part = pr.PartitionProduceData(
            index=chance.randrange(PARTITIONS), records=record_set(2, content=records(*times))
        )
        topic = pr.TopicProduceData(name=chance.choice(self.topics), partition_data=[part])
        request = pr.ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[topic])
        await self.pair.ask(actor, request, chance.randint(3, 11), may_wait=False)

    async def _list_offsets(self, actor: int) -> None:
        version = self.chance.randint(0, 9)
        times = [-1, -2, -3, -4, -5, 0, NOW - 50, NOW, NOW + 11, NOW + 91, -7] if version else [-1, -2]
        parts = [
            lo.ListOffsetsPartition(
                partition_index=partition,
                current_leader_epoch=self.chance.choice([-1, -1, -1, 0, 4]) if version >= 4 else -1,
                timestamp=self.chance.choice(times),
                max_num_offsets=self.chance.choice([1, 2, 0]) if version == 0 else 1,
            )
            for partition in self._some_partitions()
        ]
        request = lo.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=self.chance.randint(0, 1) if version >= 2 else 0,
            topics=[lo.ListOffsetsTopic(name=self.chance.choice([*self.topics, "nope"]), partitions=parts)],
        )
        await self.pair.ask(actor, request, version, may_wait=False)

    async def _delete(self, actor: int) -> None:
        parts = [
            dr.DeleteRecordsPartition(partition_index=partition, offset=self.chance.choice([-1, 0, 2, 5, 1 << 40, -2]))
            for partition in self._some_partitions()[:1]
        ]
        topic = dr.DeleteRecordsTopic(name=self.chance.choice([*self.topics, "nope"]), partitions=parts)
        request = dr.DeleteRecordsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        await self.pair.ask(actor, request, self.chance.randint(0, 2), may_wait=False)

    async def _epochs(self, actor: int) -> None:
        version = self.chance.randint(0, 4)
        parts = [
            ol.OffsetForLeaderPartition(
                partition=partition,
                current_leader_epoch=self.chance.choice([-1, 0, 3]) if version >= 2 else -1,
                leader_epoch=self.chance.choice([-1, 0, 1, 7]),
            )
            for partition in self._some_partitions()
        ]
        topic = ol.OffsetForLeaderTopic(topic=self.chance.choice([*self.topics, "nope"]), partitions=parts)
        await self.pair.ask(
            actor, ol.OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic]), version, may_wait=False
        )
