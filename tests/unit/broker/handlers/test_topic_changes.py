"""Deleting and growing topics, and what is told of them beside Metadata."""

from pathlib import Path
from uuid import UUID

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from stepdown.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from stepdown.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from stepdown.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from stepdown.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from support.admin import create, write
from support.client import RawClient
from support.running import running_broker


@pytest.mark.parametrize("version", range(6))
async def test_topics_are_deleted_by_name(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "orders", 2)
    await create(client, "others")
    response = await client.send(DeleteTopicsRequest(topic_names=("orders", "absent"), timeout_ms=1000), version)
    assert {result.name: result.error_code for result in response.responses} == {
        "orders": 0,
        "absent": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert set(broker.cluster.topics) == {"others"}


async def test_topics_are_deleted_by_name_or_by_id_from_v6(broker: Broker, client: RawClient) -> None:
    for name in ("a", "b", "c"):
        await create(client, name)
    ids = {name: topic.topic_id for name, topic in broker.cluster.topics.items()}
    asked = [
        DeleteTopicState(name="a"),
        DeleteTopicState(name=None, topic_id=ids["b"]),
        DeleteTopicState(name="c", topic_id=ids["c"]),
        DeleteTopicState(name=None),
        DeleteTopicState(name=None, topic_id=UUID(int=5)),
    ]
    response = await client.send(DeleteTopicsRequest(topics=asked, timeout_ms=1000), 6)
    assert {(result.name, result.topic_id): result.error_code for result in response.responses} == {
        ("a", ids["a"]): 0,
        ("b", ids["b"]): 0,
        ("c", ids["c"]): ErrorCode.INVALID_REQUEST,
        (None, UUID(int=0)): ErrorCode.INVALID_REQUEST,
        (None, UUID(int=5)): ErrorCode.UNKNOWN_TOPIC_ID,
    }
    assert set(broker.cluster.topics) == {"c"}


async def test_a_topic_given_twice_is_not_deleted(broker: Broker, client: RawClient) -> None:
    await create(client, "a")
    topic_id = broker.cluster.topics["a"].topic_id
    for asked in (
        [DeleteTopicState(name="a"), DeleteTopicState(name="a")],
        [DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=topic_id)],
    ):
        response = await client.send(DeleteTopicsRequest(topics=asked), 6)
        assert ErrorCode.INVALID_REQUEST in [result.error_code for result in response.responses]
        assert "a" in broker.cluster.topics


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (5, ErrorCode.TOPIC_DELETION_DISABLED)])
async def test_an_operator_may_forbid_deletion(tmp_path: Path, version: int, code: int) -> None:
    async with (
        running_broker(tmp_path, delete_topic_enable="false") as broker,
        await RawClient.connect(broker.address.host, broker.address.port) as client,
    ):
        await create(client, "a")
        (result,) = (await client.send(DeleteTopicsRequest(topic_names=("a",)), version)).responses
        assert result.error_code == code
        assert "a" in broker.cluster.topics


@pytest.mark.parametrize("version", range(4))
async def test_topics_grow_and_never_shrink(broker: Broker, client: RawClient, version: int) -> None:
    def wanted(name: str, count: int, *brokers: int) -> CreatePartitionsTopic:
        lists = [CreatePartitionsAssignment(broker_ids=(each,)) for each in brokers] or None
        return CreatePartitionsTopic(name=name, count=count, assignments=lists)

    for name in ("a", "b", "c", "d", "e"):
        await create(client, name, 2)
    topics = (
        wanted("a", 4),
        wanted("b", 2),
        wanted("c", 3, 1),
        wanted("d", 3, 2),
        wanted("e", 4, 1),
        wanted("absent", 2),
        wanted("twice", 2),
        wanted("twice", 2),
    )
    response = await client.send(CreatePartitionsRequest(topics=topics, timeout_ms=1000), version)
    assert {result.name: result.error_code for result in response.results} == {
        "a": 0,
        "b": ErrorCode.INVALID_PARTITIONS,
        "c": 0,
        "d": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "e": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "absent": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "twice": ErrorCode.INVALID_REQUEST,
    }
    sizes = {name: len(topic.partitions) for name, topic in broker.cluster.topics.items()}
    assert sizes == {"a": 4, "b": 2, "c": 3, "d": 2, "e": 2}


async def test_validating_does_not_grow(broker: Broker, client: RawClient) -> None:
    await create(client, "a")
    topic = CreatePartitionsTopic(name="a", count=5, assignments=None)
    response = await client.send(CreatePartitionsRequest(topics=(topic,), validate_only=True), 3)
    assert response.results[0].error_code == 0
    assert len(broker.cluster.topics["a"].partitions) == 1


@pytest.mark.parametrize("version", range(5))
async def test_log_directories_tell_real_sizes(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "a", 2)
    await write(client, "a", 1, times=3)
    (everything,) = (await client.send(DescribeLogDirsRequest(topics=None), version)).results
    assert everything.log_dir == broker.log_manager.directories[0]
    sizes = {p.partition_index: p.partition_size for t in everything.topics for p in t.partitions}
    assert sizes[0] == 0
    assert sizes[1] == broker.cluster.topics["a"].partitions[1].log.size_bytes > 0
    assert (everything.total_bytes > everything.usable_bytes > 0) == (version >= 4)
    asked = DescribableLogDirTopic(topic="a", partitions=(0, 7))
    (some,) = (await client.send(DescribeLogDirsRequest(topics=(asked,)), version)).results
    assert [p.partition_index for t in some.topics for p in t.partitions] == [0]


@pytest.mark.parametrize("version", range(5))
async def test_an_epoch_ends_where_the_next_begins(broker: Broker, client: RawClient, version: int) -> None:
    await create(client, "a")
    await write(client, "a")
    broker.cluster.topics["a"].partitions[0].leader_epoch = 2
    await write(client, "a")
    ends = []
    for epoch in (0, 1, 2, 3, -1):
        asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
        request = OffsetForLeaderEpochRequest(topics=(OffsetForLeaderTopic(topic="a", partitions=(asked,)),))
        (answer,) = (await client.send(request, version)).topics[0].partitions
        ends.append((answer.leader_epoch if version else None, answer.end_offset, answer.error_code))
    epochs = [0, 0, 2, -1, -1] if version else [None] * 5
    assert ends == list(zip(epochs, [3, 3, 6, -1, -1], [0] * 5, strict=True))


async def test_the_leaders_epoch_is_known_before_anything_is_written(client: RawClient) -> None:
    await create(client, "a")
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=0, current_leader_epoch=0)
    request = OffsetForLeaderEpochRequest(topics=(OffsetForLeaderTopic(topic="a", partitions=(asked,)),))
    (answer,) = (await client.send(request, 4)).topics[0].partitions
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, 0, 0)


async def test_topics_are_described_a_page_at_a_time(client: RawClient) -> None:
    for name, partitions in (("a", 2), ("b", 3), ("c", 1)):
        await create(client, name, partitions)
    pages: list[list[tuple[str, list[int]]]] = []
    cursor = None
    while not pages or cursor is not None:
        request = DescribeTopicPartitionsRequest(response_partition_limit=2, cursor=cursor)
        response = await client.send(request, 0)
        pages.append([(t.name, [p.partition_index for p in t.partitions]) for t in response.topics])
        cursor = response.next_cursor
    assert pages == [[("a", [0, 1])], [("b", [0, 1])], [("b", [2]), ("c", [0])]]


@pytest.mark.parametrize("cursor", [Cursor(topic_name="z"), Cursor(topic_name="a", partition_index=-1)])
async def test_a_cursor_that_points_nowhere_is_refused(client: RawClient, cursor: Cursor) -> None:
    await create(client, "a")
    request = DescribeTopicPartitionsRequest(topics=(TopicRequest(name="a"),), cursor=cursor)
    (topic,) = (await client.send(request, 0)).topics
    assert topic.error_code == ErrorCode.INVALID_REQUEST
