"""A transactional producer made of single requests, and what it leaves behind."""

from collections.abc import Sequence

from stepdown.broker.broker import Broker
from stepdown.broker.metadata.partition import Partition
from stepdown.broker.metadata.topics import NewTopic
from stepdown.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from stepdown.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from stepdown.protocol.messages.end_txn import EndTxnRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.client import RawClient

NOW = 1_700_000_000_000  # where a manual clock begins
SETTINGS = {"transaction_state_log_num_partitions": 3, "offsets_topic_num_partitions": 3}


async def make_topic(broker: Broker, name: str, partitions: int = 2) -> None:
    new = NewTopic(name=name, partitions=partitions, settings=broker.topics.configuration.topic_settings({}))
    assert not await broker.topics.create([new])


class TransactionalClient:
    """Sends what a producer with this transactional id sends, one request at a time; answers are error codes."""

    def __init__(self, client: RawClient, transactional_id: str = "t") -> None:
        self.client = client
        self.transactional_id = transactional_id
        self.producer_id = self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    async def init(
        self, *, former: tuple[int, int] = (-1, -1), timeout_ms: int = 60_000, version: int = 5
    ) -> InitProducerIdResponse:
        """Takes the id and epoch that it gets."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=former[0],
            producer_epoch=former[1],
        )
        answer: InitProducerIdResponse = await self.client.send(request, version)
        if not answer.error_code:
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return answer

    async def add(self, topic: str, *partitions: int, version: int = 3) -> list[int]:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=partitions)],
        )
        answer = await self.client.send(request, version)
        (found,) = answer.results_by_topic_v3_and_below
        return [each.partition_error_code for each in found.results_by_partition]

    async def produce(self, topic: str, partition: int, *values: bytes, version: int = 11) -> int:
        sequence = self.sequences.get((topic, partition), 0)
        records = [Record(offset=n, timestamp=NOW, key=b"k", value=value) for n, value in enumerate(values)]
        batch = build_batch(
            records,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        data = [PartitionProduceData(index=partition, records=memoryview(batch))]
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=topic, partition_data=data)],
        )
        answer = await self.client.send(request, version)
        code: int = answer.responses[0].partition_responses[0].error_code
        if not code:
            self.sequences[topic, partition] = sequence + len(values)
        return code

    async def end(self, *, commit: bool, version: int = 4) -> int:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        code: int = (await self.client.send(request, version)).error_code
        return code

    async def add_offsets(self, group: str, version: int = 4) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        code: int = (await self.client.send(request, version)).error_code
        return code

    async def commit_offsets(self, group: str, topic: str, partition: int, offset: int, version: int = 4) -> int:
        place = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=None
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[place])],
        )
        code: int = (await self.client.send(request, version)).topics[0].partitions[0].error_code
        return code


def batches(partition: Partition) -> Sequence[str]:
    """Each batch of a log as `data`, `COMMIT` or `ABORT`, with its epoch: `ABORT 1`."""
    found = []
    for segment in partition.log.segments:
        for batch in iter_batches(segment.file.read(segment.size, 0)):
            kind = "data"
            if batch.is_control:
                (record,) = batch.records()
                kind = ("ABORT", "COMMIT")[bytes(record.key or b"")[3]]
            found.append(f"{kind} {batch.producer_epoch}")
    return found
