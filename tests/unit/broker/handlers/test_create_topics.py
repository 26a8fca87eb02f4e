from collections.abc import Sequence
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from stepdown.protocol.records.batches import iter_batches
from support.admin import create, new_topic
from support.client import RawClient

VERSIONS = range(8)


def assigned(*lists: tuple[int, Sequence[int]], partitions: int = -1, factor: int = -1) -> CreatableTopic:
    return CreatableTopic(
        name="t",
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in lists],
    )


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_version_creates_topics(broker: Broker, client: RawClient, version: int) -> None:
    topics = (new_topic("a", 3), new_topic("b", configs={"retention.ms": "5"}))
    response = await client.send(CreateTopicsRequest(topics=topics), version)
    assert [(result.name, result.error_code) for result in response.topics] == [("a", 0), ("b", 0)]
    assert [len(topic.partitions) for topic in broker.cluster.topics.values()] == [3, 1]
    assert broker.cluster.topics["b"].settings.retention_ms == 5
    assert (response.topics[0].topic_id == broker.cluster.topics["a"].topic_id) == (version >= 7)


@pytest.mark.parametrize("version", [5, 7])
async def test_the_answer_shows_the_settings_in_force_from_v5(client: RawClient, version: int) -> None:
    topic = new_topic("a", -1, -1, {"retention.ms": "5"})
    (result,) = (await client.send(CreateTopicsRequest(topics=(topic,)), version)).topics
    assert (result.num_partitions, result.replication_factor) == (1, 1)
    shown = {config.name: (config.value, config.config_source) for config in result.configs}
    assert shown["retention.ms"] == ("5", 1)
    assert shown["segment.bytes"] == ("1073741824", 5)
    assert list(shown) == sorted(shown)


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (new_topic("not legal"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (new_topic("the.re_x"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (new_topic("the_re.x"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (new_topic("__cluster_metadata"), ErrorCode.INVALID_REQUEST),
        (new_topic("t", 0), ErrorCode.INVALID_PARTITIONS),
        (new_topic("t", -2), ErrorCode.INVALID_PARTITIONS),
        (new_topic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (new_topic("t", 1, 3), ErrorCode.INVALID_REPLICATION_FACTOR),
        (new_topic("t", configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
        (new_topic("t", configs={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG),
        (new_topic("t", configs={"retention.msec": "5"}), ErrorCode.INVALID_CONFIG),
        (assigned((0, [1]), partitions=1), ErrorCode.INVALID_REQUEST),
        (assigned((0, [1]), factor=1), ErrorCode.INVALID_REQUEST),
        (assigned((0, [2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned((0, [1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned((0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned((1, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned((0, [1]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
async def test_a_topic_that_cannot_be_is_refused_and_the_others_are_made(
    broker: Broker, client: RawClient, topic: CreatableTopic, code: ErrorCode
) -> None:
    await create(client, "there")
    await create(client, "the.re_x")
    response = await client.send(CreateTopicsRequest(topics=(topic, new_topic("good"))), 4)
    assert [result.error_code for result in response.topics] == [code, 0]
    assert response.topics[0].error_message
    assert set(broker.cluster.topics) == {"there", "the.re_x", "good"}


async def test_partitions_can_be_assigned_by_hand_to_this_broker(broker: Broker, client: RawClient) -> None:
    response = await client.send(CreateTopicsRequest(topics=(assigned((1, [1]), (0, [1])),)), 4)
    assert response.topics[0].error_code == 0
    assert list(broker.cluster.topics["t"].partitions) == [0, 1]


async def test_a_name_given_twice_is_not_created(broker: Broker, client: RawClient) -> None:
    response = await client.send(CreateTopicsRequest(topics=(new_topic("a"), new_topic("a"), new_topic("b"))), 4)
    assert {result.name: result.error_code for result in response.topics} == {"a": ErrorCode.INVALID_REQUEST, "b": 0}
    assert set(broker.cluster.topics) == {"b"}


async def test_a_request_that_only_validates_makes_nothing(broker: Broker, client: RawClient) -> None:
    response = await client.send(CreateTopicsRequest(topics=(new_topic("a", 2),), validate_only=True), 7)
    assert (response.topics[0].error_code, response.topics[0].num_partitions) == (0, 2)
    assert response.topics[0].topic_id.int != 0
    assert not broker.cluster.topics


async def test_one_request_cannot_make_millions_of_partitions(broker: Broker, client: RawClient) -> None:
    response = await client.send(CreateTopicsRequest(topics=(new_topic("a", 2**31 - 1),)), 4)
    assert response.topics[0].error_code == ErrorCode.POLICY_VIOLATION
    assert not broker.cluster.topics


def batches_of(broker: Broker) -> int:
    """How many changes the metadata log holds."""
    (segment,) = Path(broker.topics.store.log.folder).glob("*.log")
    return len(list(iter_batches(segment.read_bytes())))


async def test_many_topics_cost_one_write_of_the_metadata(broker: Broker, client: RawClient) -> None:
    before = batches_of(broker)
    request = CreateTopicsRequest(topics=[new_topic(f"t{number}") for number in range(50)])
    response = await client.send(request, 4)
    assert all(result.error_code == 0 for result in response.topics)
    assert batches_of(broker) == before + 1
