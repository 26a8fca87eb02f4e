"""A test sees what becomes of partitions, coordinators and brokers, and waits for it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from stepdown.client.operation import ask
from stepdown.client.operations.topics import make_metadata_request
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.testing import Kafka, running, running_async
from stepdown.testing.control_client import ControlFailed
from support.deadline import DEADLINE_S


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running(brokers=3, topics={"t": 1}) as cluster:
        yield cluster


def test_log_ends_and_high_watermarks_are_those_of_each_replica(kafka: Kafka) -> None:
    first = kafka.partition("t").leader
    late = next(each for each in (1, 2, 3) if each != first)
    kafka.cluster.pause_follower(late, "t")
    with ThreadPoolExecutor() as threads:
        writing = threads.submit(kafka.produce, "t", b"a", timeout=DEADLINE_S)
        seen = kafka.wait_for_log_end("t", 0, 1, brokers={first}, timeout=DEADLINE_S)
        assert (seen.log_ends[first], seen.log_ends[late], seen.high_watermark) == (1, 0, 0)
        with pytest.raises(AssertionError, match=r"log ends \{.*\} after 0 s; expected: log end 1 at all replicas"):
            kafka.wait_for_log_end("t", 0, 1, timeout=0)
        kafka.cluster.resume_follower(late, "t")
        writing.result()
    seen = kafka.wait_for_log_end("t", 0, 1, timeout=DEADLINE_S)
    assert seen.log_ends == {1: 1, 2: 1, 3: 1}
    assert kafka.wait_for_high_watermark("t", 0, 1, timeout=DEADLINE_S).high_watermark == 1


def test_a_leader_is_waited_for_though_the_one_before_answers_nobody(kafka: Kafka) -> None:
    """Each look asked the broker that was paused, and waited for thirty seconds."""
    first = kafka.partition("t").leader
    kafka.cluster.pause(first)
    kafka.clock.advance("10s")
    found = kafka.wait_for_leader("t", other_than=first)
    assert (first in found.isr, found.leader_epoch) == (False, 1)
    kafka.cluster.bump_epoch("t")
    assert kafka.wait_for_epoch("t", 0, 2).leader == found.leader


def test_a_topic_that_nobody_has_made_is_waited_for(kafka: Kafka) -> None:
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(kafka.wait_for_leader, "later", timeout=DEADLINE_S)
        kafka.create_topic("later")
        assert waiting.result().leader > 0


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (
            lambda kafka: kafka.wait_for_leader("no", timeout=0),
            r"topic no: there is no such topic or partition \(UNKNOWN_TOPIC_OR_PARTITION\) after 0 s",
        ),
        (lambda kafka: kafka.wait_for_epoch("t", 0, 9, timeout=0), r"in epoch 0, ISR \[1, 2, 3\].* expected: epoch 9"),
        (lambda kafka: kafka.wait_for_high_watermark("t", 0, 9, timeout=0), "high watermark 0,.* expected: high water"),
        (lambda kafka: kafka.wait_for_coordinator("g", timeout=0), "the coordinator of g is none after 0 s"),
        (lambda kafka: kafka.wait_for_controller(3, timeout=0), "the controller is 1 after 0 s; expected: 3"),
        (lambda kafka: kafka.wait_for_records("t", 1, timeout=0), "t has 0 records after 0 s; expected: 1"),
    ],
)
def test_what_was_there_instead_is_told(kafka: Kafka, wait: Callable[[Kafka], object], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        wait(kafka)


def test_a_coordinator_moves_and_its_members_find_it(kafka: Kafka) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe(["t"])
    kafka.produce("t", b"a")
    assert next_value(consumer) == b"a"
    first = kafka.coordinator("g")
    kafka.cluster.move_coordinator("g")
    second = kafka.wait_for_coordinator("g", other_than=first)
    consumer.commit(asynchronous=False)
    kafka.cluster.move_coordinator(group="g", broker=first)
    assert kafka.coordinator("g") == first != second
    kafka.produce("t", b"b")
    assert next_value(consumer) == b"b"
    assert kafka.committed("g") == {("t", 0): 1}
    assert second in {each.broker for each in kafka.requests.of("OffsetCommit")}
    consumer.close()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda kafka: kafka.cluster.move_coordinator(), "group or transactional_id is to be given"),
        (lambda kafka: kafka.cluster.move_coordinator("g"), "__consumer_offsets-0"),
        (lambda kafka: kafka.cluster.move_coordinator("g", transactional_id="x"), "one of them only"),
    ],
)
def test_a_coordinator_that_there_is_not_cannot_move(kafka: Kafka, act: Callable[[Kafka], object], said: str) -> None:
    with pytest.raises(ControlFailed, match=said):
        act(kafka)


def next_value(consumer: Consumer) -> bytes | None:
    for _ in range(round(DEADLINE_S / 0.05)):
        message = consumer.poll(0.05)
        if message is not None and message.error() is None:
            return message.value()
    raise AssertionError("no record came")


async def test_each_broker_is_in_its_rack_and_readers_are_sent_to_their_own() -> None:
    async with running_async(brokers=3, racks=["a", "b", "c"], topics={"t": 1}, config=FOLLOWERS) as kafka:
        await kafka.produce("t", b"x")
        partition = await kafka.partition("t")
        told = await kafka._wire.run(ask(make_metadata_request(["t"])))
        assert {each.node_id: each.rack for each in told.brokers} == {1: "a", 2: "b", 3: "c"}
        for broker, rack in {1: "a", 2: "b", 3: "c"}.items():
            fetched = await kafka._wire.call(fetch(rack), 12, node=partition.leader)
            (answer,) = fetched.responses[0].partitions
            assert answer.preferred_read_replica == (-1 if broker == partition.leader else broker)


FOLLOWERS = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


def fetch(rack: str) -> FetchRequest:
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    return FetchRequest(max_wait_ms=0, topics=(FetchTopic(topic="t", partitions=(asked,)),), rack_id=rack)


def test_a_consumer_reads_from_the_follower_in_its_rack() -> None:
    """KIP-392: nothing could be said of racks."""
    with running(brokers=3, racks=["a", "b", "c"], topics={"t": 1}, config=FOLLOWERS) as kafka:
        kafka.produce("t", b"x", b"y")
        leader = kafka.partition("t").leader
        near = leader % 3 + 1
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "client.rack": "abc"[near - 1], "log_level": 0}
        )
        consumer.assign([TopicPartition("t", 0, 0)])
        assert [next_value(consumer), next_value(consumer)] == [b"x", b"y"]
        consumer.close()
        assert near in {each.broker for each in kafka.requests.of("Fetch")}


def test_assignors_see_racks() -> None:
    """KIP-881: what a rack-aware assignor goes by is in the answers that clients get."""
    with running(brokers=3, racks=["a", "b"], topics={"t": 1}) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        nodes = admin.describe_cluster().result(DEADLINE_S).nodes
        assert {node.id: node.rack for node in nodes} == {1: "a", 2: "b", 3: "a"}


def test_one_broker_has_a_rack_too() -> None:
    with running(racks=["a"]) as kafka:
        assert kafka.control.ask("GET", "brokers") == {"controller": 1, "brokers": [{"broker": 1, "rack": "a"}]}
    with pytest.raises(ValueError, match="1 broker cannot be in 2 racks"):
        running(racks=["a", "b"])
