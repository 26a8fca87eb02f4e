"""Random walks of requests about transactions, most of them sensible, for two brokers asked side by side."""

import asyncio
import random
from collections.abc import Callable

from stepdown.protocol.messages import add_offsets_to_txn as ao
from stepdown.protocol.messages import add_partitions_to_txn as ap
from stepdown.protocol.messages import describe_producers as dp
from stepdown.protocol.messages import describe_transactions as dt
from stepdown.protocol.messages import end_txn as et
from stepdown.protocol.messages import fetch as fe
from stepdown.protocol.messages import init_producer_id as ip
from stepdown.protocol.messages import list_offsets as lo
from stepdown.protocol.messages import list_transactions as lt
from stepdown.protocol.messages import offset_fetch as of
from stepdown.protocol.messages import produce as pr
from stepdown.protocol.messages import txn_offset_commit as tc
from stepdown.protocol.messages import write_txn_markers as wm

from .deadline import DEADLINE_S
from .record_sets import record_set
from .side_by_side import Name, Side, SideBySide, Unknowable

TIMEOUT_MS = 60_000  # nothing times out
PARTITIONS = 3
ACTOR = 0


class TransactionWalk:
    """A few transactional ids, their producers, a topic of `PARTITIONS` partitions and a group."""

    def __init__(self, pair: SideBySide, topic: str, seed: int, name: str = "tx") -> None:
        self.pair = pair
        self.topic = topic
        self.chance = random.Random(seed)
        self.ids = (f"{name}-{seed}-a", f"{name}-{seed}-b")
        self.group = f"{name}-{seed}-group"
        for side in pair.sides:
            side.groups = (self.group,)
        self.producers: dict[str, str] = {}  # transactional id to the name of its producer id
        self.epochs: dict[str, int] = {}  # by the same name
        self.sequences: dict[tuple[str, int, int], int] = {}
        self.made = 0

    async def run(self, steps: int) -> None:
        what: list[Callable[[], object]] = [
            *[self._init] * 3, *[self._add] * 6, *[self._produce] * 8, *[self._end] * 5, *[self._add_offsets] * 2,
            *[self._commit] * 3, *[self._offsets] * 2, *[self._list_offsets] * 2, *[self._describe_producers] * 2,
            self._describe, self._list, self._markers, self._fetch,
        ]  # fmt: skip
        await self._init()
        for _ in range(steps):
            await self.chance.choice(what)()  # type: ignore[misc]

    # What may be said

    def _who(self) -> tuple[str, int | Name, int]:
        """A transactional id, mostly with its own producer id and epoch."""
        known = list(self.producers) or list(self.ids)
        own = self.chance.choice(known)
        producer = self.producers.get(own)
        if producer is None or self.chance.random() < 0.03:
            return own, 999_999, 0
        epoch = self.epochs[producer] + self.chance.choice([0] * 20 + [-1, 1])
        transactional = own if self.chance.random() < 0.97 else self.chance.choice([*self.ids, "nobody"])
        return transactional, Name(producer), max(epoch, 0)

    def _partitions(self) -> list[int]:
        return self.chance.sample(range(PARTITIONS + (self.chance.random() < 0.08)), self.chance.randint(1, 2))

    async def _init(self) -> None:
        version = self.chance.randint(0, 5)
        own = self.chance.choice(self.ids)
        producer: int | Name = -1
        epoch = -1
        if version >= 3 and own in self.producers and self.chance.random() < 0.4:
            producer = Name(self.producers[own])
            epoch = max(0, self.epochs[producer.text] + self.chance.choice([0, 0, 0, -1, 1]))
        request = ip.InitProducerIdRequest(
            transactional_id=own,
            transaction_timeout_ms=self.chance.choice([TIMEOUT_MS] * 20 + [0, 10_000_000]),
            producer_id=producer,
            producer_epoch=epoch,
        )
        await self._settled()
        self.made += 1
        name = f"producer-{self.made}"
        answer = await self._ask(request, version, learns={name: "producer_id"})
        if answer == "hung up" or answer["error_code"]:
            await self._settled()
            return
        for side in self.pair.sides:
            known = next(text for text, value in side.values.items() if value == side.values[name])
            if known != name:
                del side.values[name]
        self.producers[own] = known
        self.epochs[known] = answer["producer_epoch"]

    async def _ask(self, request: object, version: int, **more: object) -> object:
        return await self.pair.ask(ACTOR, request, version, may_wait=False, **more)

    async def _add(self) -> None:
        version = self.chance.randint(0, 5)
        own, producer, epoch = self._who()
        topics = [ap.AddPartitionsToTxnTopic(name=self.topic, partitions=self._partitions())]
        if self.chance.random() < 0.05:
            topics.append(ap.AddPartitionsToTxnTopic(name="nope", partitions=[0]))
        if version < 4:
            request = ap.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=own,
                v3_and_below_producer_id=producer,
                v3_and_below_producer_epoch=epoch,
                v3_and_below_topics=topics,
            )
        else:
            verify = self.chance.random() < 0.5
            request = ap.AddPartitionsToTxnRequest(
                transactions=[
                    ap.AddPartitionsToTxnTransaction(
                        transactional_id=own,
                        producer_id=producer,
                        producer_epoch=epoch,
                        verify_only=verify,
                        topics=topics,
                    )
                ]
            )
        await self._ask(request, version)

    async def _produce(self) -> None:
        version = self.chance.randint(3, 11)
        own, producer, epoch = self._who()
        partition = self.chance.randrange(PARTITIONS)
        name = producer.text if isinstance(producer, Name) else ""
        place = (name, epoch, partition)
        sequence = max(0, self.sequences.get(place, 0) + self.chance.choice([0] * 20 + [1, -3]))
        transactional = True
        parts = {}
        for side in self.pair.sides:
            data = record_set(
                2,
                producer_id=side.spoken(producer),
                producer_epoch=epoch,
                base_sequence=sequence,
                transactional=transactional,
            )
            parts[id(side)] = data
            side.values["batch"] = data
        part = pr.PartitionProduceData(index=partition, records=Name("batch"))
        request = pr.ProduceRequest(
            transactional_id=own if transactional else None,
            acks=-1,
            timeout_ms=TIMEOUT_MS,
            topic_data=[pr.TopicProduceData(name=self.topic, partition_data=[part])],
        )
        answer = await self._ask(request, version)
        if answer != "hung up" and answer["responses"][0]["partition_responses"][0]["error_code"] == 0:
            self.sequences[place] = sequence + 3

    async def _end(self) -> None:
        own, producer, epoch = self._who()
        request = et.EndTxnRequest(
            transactional_id=own, producer_id=producer, producer_epoch=epoch, committed=self.chance.random() < 0.6
        )
        for _ in range(200):
            answer = await self._ask(request, self.chance.randint(0, 4))
            if answer == "hung up" or answer["error_code"] != 51:
                break
        await self._settled()

    async def _settled(self) -> None:
        """Waits until no transaction is on its way to its end, on either side."""
        kafka, ours = self.pair.sides
        try:
            await self._settle(kafka)
        except TimeoutError:
            raise Unknowable from None  # markers that it has not written by itself may keep Kafka waiting for ever
        await self._settle(ours)

    async def _settle(self, side: Side) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while await self._is_ending(side):
                pass

    async def _is_ending(self, side: Side) -> bool:
        answer = await side.clients[ACTOR].send(dt.DescribeTransactionsRequest(transactional_ids=self.ids), 0)
        return any(state.transaction_state.startswith("Prepare") for state in answer.transaction_states)

    async def _add_offsets(self) -> None:
        own, producer, epoch = self._who()
        request = ao.AddOffsetsToTxnRequest(
            transactional_id=own, producer_id=producer, producer_epoch=epoch, group_id=self.group
        )
        await self._ask(request, self.chance.randint(0, 4))

    async def _commit(self) -> None:
        version = self.chance.randint(0, 4)
        own, producer, epoch = self._who()
        parts = [
            tc.TxnOffsetCommitRequestPartition(
                partition_index=index,
                committed_offset=self.chance.randint(0, 99),
                committed_leader_epoch=self.chance.choice([-1, 0]) if version >= 2 else -1,
                committed_metadata=self.chance.choice([None, "", "m", "x" * 21]),
            )
            for index in self._partitions()
        ]
        member, generation = (
            self.chance.choice([("", -1)] * 6 + [("ghost", 1), ("ghost", -1), ("", 3)]) if version >= 3 else ("", -1)
        )
        request = tc.TxnOffsetCommitRequest(
            transactional_id=own,
            group_id=self.group,
            producer_id=producer,
            producer_epoch=epoch,
            generation_id=generation,
            member_id=member,
            group_instance_id=self.chance.choice([None, None, None, "s"]) if version >= 3 else None,
            topics=[tc.TxnOffsetCommitRequestTopic(name=self.topic, partitions=parts)],
        )
        await self._ask(request, version)

    async def _offsets(self) -> None:
        topics = [of.OffsetFetchRequestTopics(name=self.topic, partition_indexes=range(PARTITIONS + 1))]
        group = of.OffsetFetchRequestGroup(group_id=self.group, topics=self.chance.choice([None, topics]))
        await self._ask(of.OffsetFetchRequest(groups=[group], require_stable=self.chance.random() < 0.5), 8)

    async def _list_offsets(self) -> None:
        parts = [
            lo.ListOffsetsPartition(partition_index=index, timestamp=self.chance.choice([-1, -2, -3, 0]))
            for index in range(PARTITIONS)
        ]
        request = lo.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=self.chance.randint(0, 1),
            topics=[lo.ListOffsetsTopic(name=self.topic, partitions=parts)],
        )
        await self._ask(request, self.chance.randint(7, 9))

    async def _describe_producers(self) -> None:
        topics = [
            dp.TopicRequest(name=self.topic, partition_indexes=range(PARTITIONS + 1)),
            dp.TopicRequest(name="nope", partition_indexes=[0]),
        ]
        await self._ask(dp.DescribeProducersRequest(topics=topics), 0)

    async def _describe(self) -> None:
        await self._ask(dt.DescribeTransactionsRequest(transactional_ids=[*self.ids, "nobody", ""]), 0)

    async def _list(self) -> None:
        states = self.chance.choice([[], ["Ongoing"], ["Empty", "CompleteCommit"], ["nonsense"], ["ongoing"]])
        producers = [Name(name) for name in self.producers.values()] + [12345678]
        version = self.chance.randint(0, 1)
        duration = self.chance.choice([-1, 1 << 60]) if version else -1
        await self._ask(
            lt.ListTransactionsRequest(state_filters=states, producer_id_filters=producers, duration_filter=duration),
            version,
        )

    async def _markers(self) -> None:
        """Of its own epoch: after one of a later epoch Kafka's coordinator never gets the transaction to its end."""
        if not self.producers:
            return
        producer = Name(self.chance.choice(list(self.producers.values())))
        epoch = self.epochs[producer.text]
        topics = [
            wm.WritableTxnMarkerTopic(name=self.topic, partition_indexes=self._partitions()),
            wm.WritableTxnMarkerTopic(name="nope", partition_indexes=[0]),
        ]
        marker = wm.WritableTxnMarker(
            producer_id=producer,
            producer_epoch=epoch,
            transaction_result=False,
            topics=topics,
            coordinator_epoch=self.chance.choice([0, 0, 0, -1]),
        )
        await self._ask(wm.WriteTxnMarkersRequest(markers=[marker]), self.chance.randint(0, 1))

    async def _fetch(self) -> None:
        isolation = self.chance.randint(0, 1)
        parts = [
            fe.FetchPartition(
                partition=index,
                fetch_offset=self.chance.choice([0, 0, 3, 7, 50]),
                partition_max_bytes=1 << 20 if isolation else self.chance.choice([1 << 20, 300, 1, 0]),
            )
            for index in range(PARTITIONS)
        ]
        request = fe.FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            isolation_level=isolation,
            topics=[fe.FetchTopic(topic=self.topic, partitions=parts)],
        )
        await self._ask(request, self.chance.randint(4, 12))
