"""A record with the producer id 2^63-1, which any producer may send, kept the broker from its next start.

What a directory holds of offsets, epochs, generations and ids is at the end of its type; then each API is asked, and
what would be one more is done as Kafka 3.9 does it, or refused before anything is written.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stepdown.broker.broker import Broker
from stepdown.broker.groups.consumer.group import assignment_epoch_record, epoch_record
from stepdown.broker.groups.consumer.member import ConsumerMember, MemberState
from stepdown.broker.handlers import SERVED
from stepdown.broker.transactions.transaction_status import TransactionStatus
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.coordinator.group_log import GroupRecord
from stepdown.protocol.coordinator.group_records import GroupMetadataKey, GroupMetadataValue
from stepdown.protocol.coordinator.transaction_log import PartitionsSchema, TransactionLogValue, TransactionRecord
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.heartbeat import HeartbeatRequest
from stepdown.protocol.messages.init_producer_id import InitProducerIdRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.leave_group import LeaveGroupRequest
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.messages.sync_group import SyncGroupRequest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from support.authorization_requests import GROUP, OTHER_GROUP, OTHER_TOPIC, TOPIC, TRANSACTION, requests
from support.client import RawClient
from support.log_directories import write_batches
from support.running import running_broker
from support.transactions import TransactionalClient, make_topic

LAST_INT16, LAST_INT32, LAST_INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
FIRST_INT32 = -(2**31)
LAST_OFFSET = LAST_INT64 - 1
"""Of a record: the end of its log is one more."""
NOW_MS = 1_700_000_000_000
SETTINGS = {
    "offsets_topic_num_partitions": 1,
    "transaction_state_log_num_partitions": 1,
    "group_coordinator_rebalance_protocols": "classic,consumer",
    "group_initial_rebalance_delay_ms": 0,
    "auto_create_topics_enable": "false",
    "log_retention_ms": -1,
}


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Broker, RawClient]]:
    async with (
        running_broker(folder, **SETTINGS) as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await broker.groups.await_loading()
        await broker.transactions.await_loading()
        yield broker, client


def write_last_records(folder: Path, last_offset: int, *, epoch: int = LAST_INT32) -> None:
    """A log of two records, the later at `last_offset`, in the last epoch of all."""
    records = [Record(offset=last_offset - left, timestamp=NOW_MS, value=b"v") for left in (1, 0)]
    write_batches(folder, TOPIC, 0, [records], base=last_offset - 1)
    checkpoint = folder / f"{TOPIC}-0" / "leader-epoch-checkpoint"
    checkpoint.write_text(f"0\n1\n{epoch} {last_offset - 1}\n")


async def store_groups(broker: Broker, group_id: str, *records: GroupRecord) -> None:
    await broker.groups._topic.ensure()
    broker.groups._topic.append(group_id, records)


async def store_transaction(broker: Broker, name: str, **fields: Any) -> None:
    """Of a producer that had written to the other topic."""
    partitions = (PartitionsSchema(topic=OTHER_TOPIC, partition_ids=(0,)),)
    given = {
        "producer_id": 5,
        "producer_epoch": LAST_INT16,
        "transaction_timeout_ms": LAST_INT32,
        "transaction_status": TransactionStatus.ONGOING,
        "transaction_partitions": partitions,
        "transaction_last_update_timestamp_ms": LAST_INT64,
        "transaction_start_timestamp_ms": LAST_INT64,
    }
    await broker.transactions._topic.ensure()
    record = TransactionRecord(transactional_id=name, value=TransactionLogValue(**given | fields))
    await broker.transactions._topic.write(0, [record], 10_000)


def classic(group_id: str) -> GroupRecord:
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=LAST_INT32,
        protocol=None,
        leader=None,
        current_state_timestamp=LAST_INT64,
        members=(),
    )
    return GroupRecord(key=GroupMetadataKey(group=group_id), value=value)


def consumer(group_id: str) -> list[GroupRecord]:
    """A group of one member, both at the last epoch."""
    member = ConsumerMember(
        member_id="m",
        topics=(OTHER_TOPIC,),
        rebalance_timeout_ms=LAST_INT32,
        epoch=LAST_INT32,
        state=MemberState.STABLE,
    )
    return [
        member.subscription_record(group_id),
        epoch_record(group_id, LAST_INT32),
        assignment_epoch_record(group_id, LAST_INT32),
        member.assignment_record(group_id),
    ]


def error_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def produce(producer_id: int = -1, time_ms: int = NOW_MS) -> ProduceRequest:
    fields = {} if producer_id < 0 else {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0}
    batch = build_batch([Record(offset=0, timestamp=time_ms, value=b"v")], **fields)  # type: ignore[arg-type]
    data = [PartitionProduceData(index=0, records=batch)]
    return ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name=TOPIC, partition_data=data)])


async def test_every_answer_about_states_at_their_ends_is_encoded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_last_records(tmp_path, LAST_OFFSET - 1)
    async with served(tmp_path) as (broker, client):
        await make_topic(broker, OTHER_TOPIC)
        assert (await client.send(produce(), 8)).responses[0].partition_responses[0].base_offset == LAST_OFFSET
        await store_groups(broker, GROUP, classic(GROUP))
        await store_groups(broker, OTHER_GROUP, *consumer(OTHER_GROUP))
        await store_transaction(broker, TRANSACTION)
    found = []
    async with served(tmp_path) as (broker, client):
        ids = {name: topic.topic_id for name, topic in broker.cluster.topics.items()}
        for key, what, build in sorted(requests(ids), key=lambda row: API[row[0]].name.startswith(("Delete", "Join"))):
            for version in range(SERVED[key].first, SERVED[key].last + 1):
                request = build(version)
                if request is not None and not (key is ApiKey.PRODUCE and not request.acks):
                    answer = await client.send(request, version)
                    if ErrorCode.UNKNOWN_SERVER_ERROR in codes_in(answer):
                        found.append(f"{API[key].name} v{version} {what}")
    assert not found
    assert not error_lines(caplog)


def codes_in(value: Any) -> list[int]:
    """All numbers named error_code in a response, however deep."""
    if isinstance(value, list | tuple):
        return [code for each in value for code in codes_in(each)]
    if not hasattr(type(value), "__schema__"):
        return []
    own = [getattr(value, "error_code", 0)]
    return own + [code for part in type(value).__schema__.fields for code in codes_in(getattr(value, part.name))]


@pytest.mark.parametrize("last_offset", [LAST_OFFSET, LAST_INT64], ids=["the last", "one beyond"])
async def test_a_log_without_offsets_left_takes_no_record_and_is_read(tmp_path: Path, last_offset: int) -> None:
    """Kafka 3.9 counts on below zero, and deletes such a log at its next start."""
    write_last_records(tmp_path, last_offset)
    path = tmp_path / f"{TOPIC}-0" / f"{last_offset - 1:020d}.log"
    written = path.read_bytes()
    for _ in range(2):
        async with served(tmp_path) as (broker, client):
            log = broker.cluster.partition(TOPIC, 0).log
            assert log.log_end_offset == LAST_INT64
            for version in range(3, SERVED[ApiKey.PRODUCE].last + 1):
                answer = await client.send(produce(), version)
                assert answer.responses[0].partition_responses[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            asked = FetchPartition(partition=0, fetch_offset=last_offset - 1, partition_max_bytes=1 << 20)
            fetch = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=TOPIC, partitions=[asked])])
            data = (await client.send(fetch, 4)).responses[0].partitions[0]
            assert (data.error_code, data.high_watermark) == (ErrorCode.NONE, LAST_INT64)
            for timestamp in (-1, -2, NOW_MS):
                partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
                listing = ListOffsetsRequest(topics=[ListOffsetsTopic(name=TOPIC, partitions=[partition])])
                assert (await client.send(listing, 5)).topics[0].partitions[0].error_code == ErrorCode.NONE
        assert path.read_bytes() == written


@pytest.mark.parametrize("offset", [2**63, 10**30], ids=str)
async def test_offsets_and_epochs_beyond_all_in_checkpoints_are_as_if_not_there(tmp_path: Path, offset: int) -> None:
    """A start of the log beyond its end deletes all of it."""
    write_last_records(tmp_path, 9, epoch=offset)
    for name in ("log-start-offset-checkpoint", "replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        (tmp_path / name).write_text(f"0\n1\n{TOPIC} 0 {offset}\n")
    async with served(tmp_path) as (broker, client):
        log = broker.cluster.partition(TOPIC, 0).log
        assert (log.log_start_offset, log.log_end_offset) == (8, 10)
        answer = await client.send(produce(), 8)
        assert answer.responses[0].partition_responses[0].base_offset == 10


async def test_a_leader_epoch_stays_at_its_last(tmp_path: Path) -> None:
    """After an unclean stop the epoch would be one more, at each start."""
    write_last_records(tmp_path, 9)
    for expected in (10, 11):
        async with served(tmp_path) as (broker, client):
            assert broker.cluster.partition(TOPIC, 0).leader_epoch == LAST_INT32
            answer = await client.send(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]), 12)
            assert answer.topics[0].partitions[0].leader_epoch == LAST_INT32
            produced = await client.send(produce(), 8)
            assert produced.responses[0].partition_responses[0].base_offset == expected
        (tmp_path / ".kafka_cleanshutdown").unlink()


async def test_a_log_of_metadata_at_its_last_epoch(tmp_path: Path) -> None:
    """Each start of a broker that changes something begins an epoch of the metadata."""
    async with served(tmp_path) as (broker, _):
        await make_topic(broker, TOPIC)
    path = tmp_path / "__cluster_metadata-0" / "quorum-state"
    before = f'"leaderEpoch":{broker.topics.store.log.epoch}'
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, f'"leaderEpoch":{LAST_INT32}'))
    for name in ("a", "b"):
        async with served(tmp_path) as (broker, _):
            await make_topic(broker, name)
            assert broker.topics.store.log.epoch == LAST_INT32
    async with served(tmp_path) as (broker, _):
        assert {"a", "b", TOPIC} <= set(broker.cluster.topics)


def join(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


async def test_a_generation_goes_on_below_zero_as_in_kafka(tmp_path: Path) -> None:
    """Kafka 3.9 ClassicGroup: an int of Java. A member that joins is one in every way."""
    async with served(tmp_path) as (broker, _):
        await store_groups(broker, GROUP, classic(GROUP))
    for generation in (FIRST_INT32, FIRST_INT32 + 2):  # a member that leaves ends a generation, too
        async with served(tmp_path) as (_, client):
            joined = await client.send(join(), 2)
            assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, generation)
            own = {"group_id": GROUP, "generation_id": joined.generation_id, "member_id": joined.member_id}
            assert (await client.send(SyncGroupRequest(**own), 0)).error_code == ErrorCode.NONE
            assert (await client.send(HeartbeatRequest(**own), 0)).error_code == ErrorCode.NONE
            leave = LeaveGroupRequest(group_id=GROUP, member_id=joined.member_id)
            assert (await client.send(leave, 0)).error_code == ErrorCode.NONE


def heartbeat(member_id: str, epoch: int) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=(OTHER_TOPIC,),
        topic_partitions=(),
    )


async def test_a_group_at_its_last_epoch_takes_no_member(tmp_path: Path) -> None:
    """Kafka 3.9 counts on below zero and assigns nothing any more. Who is there may stay, and leave."""
    async with served(tmp_path) as (broker, client):
        await make_topic(broker, OTHER_TOPIC)
        await client.send(heartbeat("", 0), 0)
        group = broker.groups.groups.find(GROUP)
        (member_id,) = group.members
        topics = group.topics
        await store_groups(broker, GROUP, *_at_the_end(group, member_id))
    async with served(tmp_path) as (broker, client):
        group = broker.groups.groups.find(GROUP)
        assert (group.epoch, group.topics) == (LAST_INT32, topics)
        stays = await client.send(heartbeat(member_id, LAST_INT32), 0)
        assert (stays.error_code, stays.member_epoch) == (ErrorCode.NONE, LAST_INT32)
        log = broker.cluster.partition("__consumer_offsets", 0).log
        end = log.log_end_offset
        refused = await client.send(heartbeat("", 0), 0)
        assert refused.error_code == ErrorCode.INVALID_REQUEST
        assert "delete it" in refused.error_message
        assert (log.log_end_offset, list(group.members)) == (end, [member_id])
        described = (await client.send(ConsumerGroupDescribeRequest(group_ids=(GROUP,)), 0)).groups[0]
        assert (described.group_epoch, described.assignment_epoch) == (LAST_INT32, LAST_INT32)
        assert described.members[0].member_epoch == LAST_INT32
        assert (await client.send(heartbeat(member_id, -1), 0)).error_code == ErrorCode.NONE
        assert (group.epoch, group.members) == (LAST_INT32, {})


def _at_the_end(group: Any, member_id: str) -> list[GroupRecord]:
    member = group.members[member_id]
    return [
        epoch_record(GROUP, LAST_INT32),
        assignment_epoch_record(GROUP, LAST_INT32),
        member.after_step(LAST_INT32, MemberState.STABLE, member.assigned, {}).assignment_record(GROUP),
    ]


async def test_a_producer_of_the_last_epoch_is_aborted(tmp_path: Path) -> None:
    """Kafka 3.9 throws where it would fence it, and its transaction stays open."""
    async with served(tmp_path) as (broker, _):
        await make_topic(broker, OTHER_TOPIC)
        await store_transaction(broker, TRANSACTION)
    async with served(tmp_path) as (broker, client):
        producer = TransactionalClient(client, TRANSACTION)
        assert (await producer.init()).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        await broker.transactions.await_markers()
        assert broker.transactions.find(TRANSACTION).now.state is TransactionStatus.COMPLETE_ABORT
        answer = await producer.init()
        assert (answer.error_code, answer.producer_epoch) == (ErrorCode.NONE, 0)
        assert answer.producer_id != 5


async def next_producer_id(client: RawClient) -> int:
    answer = await client.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000), 1)
    producer_id: int = answer.producer_id
    return producer_id


@pytest.mark.parametrize("producer_id", [LAST_INT64, LAST_INT64 - 1_000, 2**62])
async def test_a_producer_id_that_nobody_handed_out_uses_up_none(tmp_path: Path, producer_id: int) -> None:
    async with served(tmp_path) as (broker, client):
        await make_topic(broker, TOPIC)
        request = produce(producer_id, broker.clock.now_ms())  # a producer of yesterday is forgotten
        assert (await client.send(request, 8)).responses[0].partition_responses[0].error_code == 0
        first = await next_producer_id(client)
    async with served(tmp_path) as (_, client):
        assert first < await next_producer_id(client) < 10_000


async def test_no_producer_id_is_left(tmp_path: Path) -> None:
    """Kafka 3.9 ProducerIdControlManager: UNKNOWN_SERVER_ERROR."""
    async with served(tmp_path) as (broker, _):
        broker.topics.store.state.next_producer_id = LAST_INT64 - 1_500
        broker.topics.store.save()
    async with served(tmp_path) as (_, client):
        producers = [TransactionalClient(client, f"t{number}") for number in range(1_001)]
        answers = [await producer.init() for producer in producers]
    assert answers[0].producer_id == LAST_INT64 - 1_500
    assert [answer.error_code for answer in answers] == [ErrorCode.NONE] * 1_000 + [ErrorCode.UNKNOWN_SERVER_ERROR]
