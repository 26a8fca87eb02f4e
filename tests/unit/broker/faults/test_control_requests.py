"""Scopes, counts and limits of faults, and the rest of what the control answers."""

from collections.abc import Iterator

import pytest
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.testing import Kafka, running
from stepdown.testing.control_client import ControlFailed
from support.client import RawClient


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running(config={"num.partitions": 2}) as broker:
        broker.create_topic("t", 2)
        broker.create_topic("u", 1)
        yield broker


async def connect(kafka: Kafka, client_id: str = "raw") -> RawClient:
    host, port = kafka.bootstrap.split(":")
    return await RawClient.connect(host, int(port), client_id=client_id)


def produce_request(*places: tuple[str, int], acks: int = -1) -> ProduceRequest:
    records = build_batch([Record(timestamp=1, value=b"x")])
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=tuple(
            TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=index, records=records),))
            for topic, index in places
        ),
    )


async def codes(kafka: Kafka, *places: tuple[str, int], client_id: str = "raw") -> dict[tuple[str, int], int]:
    async with await connect(kafka, client_id) as client:
        answer = await client.send(produce_request(*places), 9)
    return {
        (topic.name, each.index): each.error_code for topic in answer.responses for each in topic.partition_responses
    }


async def test_only_the_partition_that_is_named_fails_and_the_others_are_written(kafka: Kafka) -> None:
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", topic="t", partition=1)
    assert await codes(kafka, ("t", 0), ("t", 1), ("u", 0)) == {("t", 0): 0, ("t", 1): 19, ("u", 0): 0}
    assert [(each.topic, each.partition) for name in "tu" for each in kafka.records(name)] == [("t", 0), ("u", 0)]


async def test_an_error_after_the_effect_changes_the_answer_only(kafka: Kafka) -> None:
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", topic="u", when="after")
    assert await codes(kafka, ("t", 0), ("u", 0)) == {("t", 0): 0, ("u", 0): 20}
    assert len(kafka.records("u")) == 1


async def test_a_fault_lets_some_pass_and_then_fires_so_often(kafka: Kafka) -> None:
    fault = kafka.faults.error("Produce", 6, after=1, times=2)
    assert [(await codes(kafka, ("t", 0)))["t", 0] for _ in range(5)] == [0, 6, 6, 0, 0]
    assert fault.hits == 2


async def test_a_fault_is_for_a_client_and_for_versions(kafka: Kafka) -> None:
    kafka.faults.error("Produce", 6, client_id="other", times=None)
    kafka.faults.error("Produce", 7, versions="0-8", times=None, optional=True)
    assert (await codes(kafka, ("t", 0)))["t", 0] == 0
    assert (await codes(kafka, ("t", 0), client_id="other"))["t", 0] == 6


async def test_draws_of_a_probability_come_from_the_seed() -> None:
    async def drawn() -> list[int]:
        with running(seed=7) as kafka:
            kafka.create_topic("t", 2)
            kafka.faults.error("Produce", 6, probability=0.5, times=None)
            return [(await codes(kafka, ("t", 0)))["t", 0] for _ in range(12)]

    first = await drawn()
    assert set(first) == {0, 6}
    assert first == await drawn()


async def test_a_group_scope_and_the_form_of_the_api(kafka: Kafka) -> None:
    kafka.faults.coordinator_error("COORDINATOR_LOAD_IN_PROGRESS", group="g")
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topics = (OffsetCommitRequestTopic(name="t", partitions=(partition,)),)
    async with await connect(kafka) as client:
        for group, code in (("other", 0), ("g", 14), ("g", 0)):
            answer = await client.send(OffsetCommitRequest(group_id=group, topics=topics), 7)
            assert answer.topics[0].partitions[0].error_code == code
    assert kafka.committed("g") == {("t", 0): 1}


async def test_metadata_of_a_topic_may_fail_as_a_whole(kafka: Kafka) -> None:
    kafka.faults.error("Metadata", "TOPIC_AUTHORIZATION_FAILED", topic="u")
    async with await connect(kafka) as client:
        asked = (MetadataRequestTopic(name="t"), MetadataRequestTopic(name="u"))
        answer = await client.send(MetadataRequest(topics=asked), 9)
    assert {topic.name: topic.error_code for topic in answer.topics} == {"t": 0, "u": 29}


async def test_acks_0_has_no_answer_even_when_its_write_is_lost(kafka: Kafka) -> None:
    kafka.faults.lose(topic="t")
    async with await connect(kafka) as client:
        await client.begin(produce_request(("t", 0), acks=0), 9)
        await client.send(produce_request(("u", 0)), 9)
    assert kafka.records("t") == []
    assert len(kafka.records("u")) == 1


async def test_a_muted_connection_is_answered_after_the_throttle_time(kafka: Kafka) -> None:
    kafka.faults.throttle("5s", api="Metadata")
    kafka.clock.pause()
    async with await connect(kafka) as client:
        assert (await client.send(MetadataRequest(topics=()), 9)).throttle_time_ms == 5000
        number = await client.begin(MetadataRequest(topics=()), 9)
        kafka.clock.advance("5s")
        assert (await client.finish(MetadataRequest(topics=()), 9, number)).throttle_time_ms == 0


def test_the_test_s_own_requests_are_left_alone(kafka: Kafka) -> None:
    kafka.faults.error("Produce", 6, times=None, optional=True)
    kafka.produce("t", b"x")
    assert list(kafka.requests) == []


def test_what_never_fired_fails_the_test_unless_nobody_minds(kafka: Kafka) -> None:
    kafka.faults.drop(api="Produce")
    kafka.faults.drop(api="Fetch", optional=True)
    with pytest.raises(AssertionError, match=r"never fired .*api=Produce"):
        kafka.faults.assert_fired()
    assert list(kafka.faults) == []
    kafka.faults.assert_fired()


def test_waiting_for_a_fault_that_does_not_fire_ends(kafka: Kafka) -> None:
    fault = kafka.faults.drop(api="Produce")
    with pytest.raises(AssertionError, match="has fired 0 times in 10ms, not 1"):
        fault.wait(timeout="10ms")


def test_a_fault_is_removed_at_the_end_of_its_block(kafka: Kafka) -> None:
    with kafka.faults.drop(api="Produce"):
        assert [each["state"] for each in kafka.faults] == ["armed"]
    assert [each["state"] for each in kafka.faults] == ["removed"]


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("GET", "faults/99", {}, "there is no fault 99"),
        ("GET", "fautls", {}, "there is no GET /fautls"),
        ("POST", "clock/advance", {"bye": "4s"}, "no field 'bye'; did you mean by"),
        ("POST", "clock/advance", {}, "by is missing"),
        ("POST", "segments/corrupt", {"topic": "nope"}, "no partition nope-0"),
        ("POST", "segments/corrupt", {"topic": "t"}, "t-0 has no batch"),
        ("POST", "producers/fence", {"transactional_id": "x"}, "no producer has used x"),
    ],
)
def test_what_cannot_be_done_is_said(kafka: Kafka, method: str, path: str, body: dict[str, str], said: str) -> None:
    with pytest.raises(ControlFailed, match=said):
        kafka.control.ask(method, path, body)
