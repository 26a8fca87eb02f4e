import shutil
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from stepdown.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_plain_batch
from support.admin import create, write
from support.client import RawClient
from support.loop_calls import MOST_CALLS, Calls
from support.record_sets import NOW
from support.running import running_broker

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = range(-1, -6, -1)


async def offsets(
    client: RawClient, timestamp: int, version: int, *, name: str = "orders", partition: int = 0, **fields: int
) -> ListOffsetsPartitionResponse:
    replica_id = fields.pop("replica_id", -1)
    asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, **fields)
    request = ListOffsetsRequest(replica_id=replica_id, topics=(ListOffsetsTopic(name=name, partitions=(asked,)),))
    response = await client.send(request, version)
    answer: ListOffsetsPartitionResponse = response.topics[0].partitions[0]
    return answer


@pytest.fixture
async def orders(client: RawClient) -> None:
    """Two sets of records at NOW-30, NOW-10 and NOW-20."""
    await create(client, "orders", 2)
    await write(client, "orders", times=2)


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("version", range(1, 10))
@pytest.mark.parametrize(
    ("timestamp", "offset", "found", "since"),
    [
        (LATEST, 6, -1, 1),
        (EARLIEST, 0, -1, 1),
        (MAX_TIMESTAMP, 1, NOW - 10, 7),
        (EARLIEST_LOCAL, 0, -1, 8),
        (LATEST_TIERED, -1, -1, 9),
        (0, 0, NOW - 30, 1),
        (NOW - 30, 0, NOW - 30, 1),
        (NOW - 29, 1, NOW - 10, 1),
        (NOW, -1, -1, 1),
    ],
)
async def test_an_offset_is_found_by_time(
    client: RawClient, version: int, timestamp: int, offset: int, found: int, since: int
) -> None:
    answer = await offsets(client, timestamp, version)
    if version < since:
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        return
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, offset, found)
    assert answer.leader_epoch == (0 if version >= 4 and offset >= 0 else -1)


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("timestamp", "count", "found"),
    [(LATEST, 1, (6,)), (LATEST, 5, (6, 0)), (EARLIEST, 5, (0,)), (LATEST, 0, ()), (0, 5, ())],
)
async def test_v0_answers_a_list_of_offsets(
    client: RawClient, timestamp: int, count: int, found: tuple[int, ...]
) -> None:
    answer = await offsets(client, timestamp, 0, max_num_offsets=count)
    assert (answer.error_code, tuple(answer.old_style_offsets)) == (0, found)


@pytest.mark.usefixtures("orders")
async def test_v0_knows_no_other_negative_timestamps(client: RawClient) -> None:
    assert (await offsets(client, -3, 0)).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("epoch", "code"), [(-1, 0), (0, 0), (1, ErrorCode.UNKNOWN_LEADER_EPOCH)], ids=["none", "current", "future"]
)
async def test_a_client_with_another_epoch_is_fenced(client: RawClient, epoch: int, code: int) -> None:
    assert (await offsets(client, LATEST, 9, current_leader_epoch=epoch)).error_code == code


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("version", range(10))
async def test_an_unknown_partition_is_said_to_be_one(client: RawClient, version: int) -> None:
    assert (await offsets(client, LATEST, version, partition=9)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await offsets(client, LATEST, version, name="no")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.usefixtures("orders")
async def test_a_partition_asked_for_twice_is_refused(client: RawClient) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=(asked, asked)),))
    response = await client.send(request, 5)
    assert [p.error_code for p in response.topics[0].partitions] == [ErrorCode.INVALID_REQUEST] * 2


@pytest.mark.usefixtures("orders")
async def test_a_partition_asked_for_again_in_another_part_of_a_long_request_is_refused(client: RawClient) -> None:
    """Each part of a request was looked at by itself."""
    asked = [ListOffsetsPartition(partition_index=number % 600, timestamp=LATEST) for number in range(601)]
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name="orders", partitions=asked),))
    response = await client.send(request, 5)
    codes = [p.error_code for p in response.topics[0].partitions]
    assert codes[0] == codes[600] == ErrorCode.INVALID_REQUEST
    assert ErrorCode.INVALID_REQUEST not in codes[1:600]


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("version", range(3))
async def test_deleted_records_move_the_start_of_the_log(broker: Broker, client: RawClient, version: int) -> None:
    def deletion(partition: int, offset: int) -> DeleteRecordsPartition:
        return DeleteRecordsPartition(partition_index=partition, offset=offset)

    await create(client, "keyed", configs={"cleanup.policy": "compact"})
    topics = (
        DeleteRecordsTopic(name="orders", partitions=(deletion(0, 4), deletion(1, 1), deletion(7, 0))),
        DeleteRecordsTopic(name="keyed", partitions=(deletion(0, 0),)),
    )
    response = await client.send(DeleteRecordsRequest(topics=topics, timeout_ms=1000), version)
    answers = {
        (topic.name, p.partition_index): (p.error_code, p.low_watermark)
        for topic in response.topics
        for p in topic.partitions
    }
    assert answers == {
        ("orders", 0): (0, 4),
        ("orders", 1): (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        ("orders", 7): (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        ("keyed", 0): (ErrorCode.POLICY_VIOLATION, -1),
    }
    assert (await offsets(client, EARLIEST, 5)).offset == 4


@pytest.mark.usefixtures("orders")
async def test_minus_one_deletes_up_to_the_high_watermark_and_less_than_the_start_changes_nothing(
    client: RawClient,
) -> None:
    for offset, low_watermark in ((-1, 6), (2, 6)):
        asked = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(topics=(DeleteRecordsTopic(name="orders", partitions=(asked,)),))
        (answer,) = (await client.send(request, 2)).topics[0].partitions
        assert (answer.error_code, answer.low_watermark) == (0, low_watermark)


@pytest.mark.usefixtures("orders")
async def test_deleted_records_stay_deleted_after_a_crash(tmp_path: Path, client: RawClient) -> None:
    asked = DeleteRecordsPartition(partition_index=0, offset=4)
    request = DeleteRecordsRequest(topics=(DeleteRecordsTopic(name="orders", partitions=(asked,)),))
    await client.send(request, 2)
    crashed = shutil.copytree(tmp_path / "data", tmp_path / "crashed")
    async with running_broker(crashed) as broker:
        assert broker.cluster.topics["orders"].partitions[0].log.log_start_offset == 4


async def test_a_batch_of_many_records_is_searched_by_a_worker(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ListOffsets by time decoded its 140,000 records on the loop, 0.5 s of each such request of 60 bytes."""
    await create(client, "orders", 1)
    pairs: list[tuple[bytes | None, bytes | None]] = [(None, b"")] * 30_000
    partition = PartitionProduceData(index=0, records=build_plain_batch(pairs, timestamp=NOW))
    topic = TopicProduceData(name="orders", partition_data=(partition,))
    await client.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=(topic,)), 3)
    await client.send(DeleteRecordsRequest(topics=(_start_of_orders(29_999),), timeout_ms=1000), 1)
    calls = Calls(broker.turns)
    with calls.counted(monkeypatch):
        found = await offsets(client, NOW, 7)
        assert (await offsets(client, MAX_TIMESTAMP, 7)).timestamp == NOW
    assert (found.offset, found.timestamp) == (29_999, NOW)
    assert calls.most <= MOST_CALLS


def _start_of_orders(offset: int) -> DeleteRecordsTopic:
    return DeleteRecordsTopic(name="orders", partitions=(DeleteRecordsPartition(partition_index=0, offset=offset),))
