"""Each kind of fault, and what a real client makes of it: librdkafka by confluent-kafka, and aiokafka."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import confluent_kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError, MessageSizeTooLargeError, ProducerFenced
from confluent_kafka import Consumer, KafkaException, Producer
from stepdown.testing import Kafka, running
from support.clients_raw import wait_until
from support.deadline import DEADLINE_S, MOMENT_S

QUICK = {"retry.backoff.ms": 5, "retry.backoff.max.ms": 20, "reconnect.backoff.ms": 5, "reconnect.backoff.max.ms": 20}


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running() as broker:
        broker.create_topic("t")
        yield broker
        broker.faults.assert_fired()


def produce(kafka: Kafka, *values: bytes, **settings: Any) -> list[str | int]:
    """The offset of each record by librdkafka, or the name of the error."""
    told: list[str | int] = []
    options = {key if key.endswith("_cb") else key.replace("_", "."): value for key, value in settings.items()}
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0, **QUICK, **options})

    def on_delivery(error: Any, message: Any) -> None:
        told.append(message.offset() if error is None else error.name())

    for value in values:
        producer.produce("t", value, on_delivery=on_delivery)
    assert producer.flush(DEADLINE_S) == 0
    return told


def consume(kafka: Kafka, count: int, **settings: Any) -> list[bytes | str]:
    """The values by librdkafka, or the names of errors."""
    options = {key.replace("_", "."): value for key, value in settings.items()}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g", "log_level": 0, **QUICK, **options})
    consumer.assign([confluent_kafka.TopicPartition("t", 0, 0)])
    found: list[bytes | str] = []
    last = time.monotonic() + DEADLINE_S
    while len(found) < count and time.monotonic() < last:
        message = consumer.poll(0.2)
        if message is not None:
            found.append(message.value() if message.error() is None else message.error().name())
    consumer.close()
    return found


async def produce_by_aiokafka(kafka: Kafka, value: bytes, **settings: Any) -> int:
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, retry_backoff_ms=10, **settings)
    await producer.start()
    try:
        return int((await producer.send_and_wait("t", value)).offset)
    finally:
        await producer.stop()


def values(kafka: Kafka) -> list[bytes | None]:
    return [record.value for record in kafka.records("t")]


def test_an_error_before_the_effect_is_tried_again(kafka: Kafka) -> None:
    fault = kafka.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic="t", times=2)
    assert produce(kafka, b"x") == [0]
    assert fault.hits == 2
    assert [each.answer for each in kafka.requests.of("Produce")] == [["NOT_LEADER_OR_FOLLOWER"]] * 2 + [[]]


@pytest.mark.parametrize(("idempotent", "stored"), [(False, 2), (True, 1)])
def test_an_error_after_the_effect_is_a_duplicate_without_idempotence(
    kafka: Kafka, idempotent: bool, stored: int
) -> None:
    kafka.faults.error("Produce", "REQUEST_TIMED_OUT", when="after")
    assert len(produce(kafka, b"x", enable_idempotence=idempotent)) == 1
    assert values(kafka) == [b"x"] * stored


async def test_aiokafka_tells_of_an_error_that_is_final(kafka: Kafka) -> None:
    kafka.faults.error("Produce", "MESSAGE_TOO_LARGE")
    with pytest.raises(MessageSizeTooLargeError):
        await produce_by_aiokafka(kafka, b"x")
    assert values(kafka) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_delay_is_waited_for(kafka: Kafka, when: str) -> None:
    fault = kafka.faults.delay("150ms", when=when, api="Produce")
    kafka.clock.pause()
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(produce, kafka, b"x")
        wait_until(lambda: fault.hits, "the request is there")
        kafka.clock.advance(149)
        assert wait([sending], MOMENT_S).not_done
        kafka.clock.advance(1)
        assert sending.result(DEADLINE_S) == [0]


async def test_what_is_held_goes_on_when_it_is_released(kafka: Kafka) -> None:
    fault = kafka.faults.hold(api="Produce")
    sending = asyncio.create_task(produce_by_aiokafka(kafka, b"x"))
    await asyncio.to_thread(fault.wait)
    assert values(kafka) == []
    fault.release()
    assert await sending == 0


@pytest.mark.parametrize(("scope", "stored"), [({}, 1), ({"when": "after"}, 2), ({"bytes": 6}, 2)], ids=str)
def test_a_dropped_connection_is_made_anew_and_the_request_sent_again(
    kafka: Kafka, scope: dict[str, Any], stored: int
) -> None:
    kafka.faults.drop(api="Produce", **scope)
    assert len(produce(kafka, b"x")) == 1
    assert values(kafka) == [b"x"] * stored
    assert kafka.requests.of("Produce")[0].answer is None


def test_a_request_that_is_never_answered_times_out(kafka: Kafka) -> None:
    kafka.faults.black_hole(api="Produce", times=None)
    assert produce(kafka, b"x", message_timeout_ms=300) == ["_MSG_TIMED_OUT"]


def test_a_throttled_client_is_told(kafka: Kafka) -> None:
    kafka.faults.throttle("70ms", api="Produce")
    told: list[float] = []
    assert produce(kafka, b"x", throttle_cb=lambda event: told.append(event.throttle_time)) == [0]
    assert told == [0.07]


@pytest.mark.parametrize(
    ("what", "told"), [("correlation_id", [1]), ("length", ["_UNDERFLOW"]), ("garbage", ["_BAD_MSG"])]
)
def test_librdkafka_sends_again_or_gives_up_after_an_answer_that_is_none(
    kafka: Kafka, what: str, told: list[str | int]
) -> None:
    kafka.faults.corrupt(what, api="Produce")
    assert produce(kafka, b"x", socket_timeout_ms=300) == told


@pytest.mark.parametrize("what", ["correlation_id", "length"])
async def test_aiokafka_survives_an_answer_that_is_none(kafka: Kafka, what: str) -> None:
    kafka.faults.corrupt(what, api="Produce")
    await produce_by_aiokafka(kafka, b"x", request_timeout_ms=500)
    assert values(kafka) == [b"x", b"x"]


async def test_aiokafka_refuses_records_with_a_wrong_checksum(kafka: Kafka) -> None:
    kafka.produce("t", b"x")
    kafka.faults.corrupt("crc")
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap)
    await consumer.start()
    try:
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek(TopicPartition("t", 0), 0)
        with pytest.raises(CorruptRecordException):
            await asyncio.wait_for(consumer.getone(), DEADLINE_S)
    finally:
        await consumer.stop()


def test_a_batch_without_its_end_is_fetched_again(kafka: Kafka) -> None:
    kafka.produce("t", b"x")
    kafka.faults.corrupt("truncated")
    assert consume(kafka, 1) == [b"x"]
    assert len(kafka.requests.of("Fetch")) >= 2


def test_a_segment_that_is_corrupt_on_the_disk_is_noticed(kafka: Kafka) -> None:
    kafka.produce("t", b"fine")
    kafka.produce("t", b"spoilt")
    assert kafka.faults.corrupt_segment("t") == 1
    found = consume(kafka, 2, check_crcs=True)
    assert found[0] == b"fine" and b"spoilt" not in found


async def test_a_wrong_high_watermark_is_believed(kafka: Kafka) -> None:
    kafka.produce("t", b"x")
    kafka.faults.watermark(high_watermark=100, last_stable_offset=100, times=None)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap)
    await consumer.start()
    try:
        place = TopicPartition("t", 0)
        consumer.assign([place])
        consumer.seek(place, 0)
        await asyncio.wait_for(consumer.getone(), DEADLINE_S)
        assert consumer.highwater(place) == 101
    finally:
        await consumer.stop()


@pytest.mark.parametrize(("kind", "stored"), [("duplicate", 2), ("lose", 0)])
def test_writes_that_happen_twice_or_never_are_acknowledged(kafka: Kafka, kind: str, stored: int) -> None:
    kafka.faults.arm(kind, topic="t")
    assert len(produce(kafka, b"x")) == 1
    assert values(kafka) == [b"x"] * stored


def test_an_older_broker_gets_the_versions_that_it_has(kafka: Kafka) -> None:
    kafka.faults.versions("Produce", only="0-2")
    kafka.faults.versions("Fetch", only="0-3")
    assert produce(kafka, b"x") == [0]
    assert consume(kafka, 1) == [b"x"]
    assert {each.version for each in kafka.requests.of("Produce")} == {2}
    with pytest.raises(AssertionError, match="deprecated: Fetch v"):
        kafka.requests.assert_none_deprecated()


async def test_a_partition_without_a_leader_is_asked_for_again(kafka: Kafka) -> None:
    fault = kafka.faults.metadata(topic="t", partition=0)
    sending = asyncio.create_task(produce_by_aiokafka(kafka, b"x"))
    await asyncio.to_thread(fault.wait)
    assert not sending.done()
    fault.remove()
    assert await sending == 0


def test_a_fetch_with_an_error_goes_on_afterwards(kafka: Kafka) -> None:
    kafka.produce("t", b"x")
    fault = kafka.faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", topic="t", times=3)
    assert consume(kafka, 1) == [b"x"]
    assert fault.hits == 3


@pytest.mark.parametrize("what", ["full", "error"])
def test_a_disk_that_fails_is_answered_as_storage_error(kafka: Kafka, what: str) -> None:
    kafka.faults.disk(what, topic="t")
    assert produce(kafka, b"x", message_timeout_ms=400) == ["_MSG_TIMED_OUT"]
    assert {tuple(each.answer or ()) for each in kafka.requests.of("Produce")} == {("KAFKA_STORAGE_ERROR",)}


@pytest.mark.parametrize("code", ["COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"])
async def test_a_member_finds_its_coordinator_again(kafka: Kafka, code: str) -> None:
    kafka.faults.coordinator_error(code, group="members", times=3)
    consumer = AIOKafkaConsumer("t", bootstrap_servers=kafka.bootstrap, group_id="members", retry_backoff_ms=10)
    await consumer.start()
    try:
        await asyncio.to_thread(kafka.wait_for_group, "members", members=1)
    finally:
        await consumer.stop()


def transactional(kafka: Kafka) -> Producer:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "tx", "log_level": 0, **QUICK})
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce("t", b"x")
    producer.flush(DEADLINE_S)
    return producer


def test_a_fenced_producer_can_only_end(kafka: Kafka) -> None:
    producer = transactional(kafka)
    kafka.faults.fence_producer("tx")
    with pytest.raises(KafkaException) as refused:
        producer.commit_transaction(DEADLINE_S)
    assert refused.value.args[0].name() in ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
    assert values(kafka) == []


def test_between_decided_and_complete_a_transaction_is_in_the_way(kafka: Kafka) -> None:
    kafka.faults.hold_markers()
    producer = transactional(kafka)
    producer.commit_transaction(DEADLINE_S)
    assert values(kafka) == []
    producer.begin_transaction()
    producer.produce("t", b"y")
    wait_until(
        lambda: ["CONCURRENT_TRANSACTIONS"] in [each.answer for each in kafka.requests.of("AddPartitionsToTxn")],
        "the transaction before is in the way",
    )
    assert producer.flush(MOMENT_S) == 1
    kafka.faults.release_markers()
    producer.commit_transaction(DEADLINE_S)
    assert values(kafka) == [b"x", b"y"]


def test_a_transaction_hangs_in_the_partition_that_does_not_hear_of_its_end(kafka: Kafka) -> None:
    kafka.create_topic("other")
    fault = kafka.faults.lose_marker(topic="t")
    producer = transactional(kafka)
    producer.produce("other", b"seen")
    producer.commit_transaction(DEADLINE_S)
    kafka.produce("t", b"behind")
    assert [record.value for record in kafka.records("other")] == [b"seen"]
    assert values(kafka) == []
    assert fault.hits == 1


def test_a_stale_leader_is_named_as_it_was(kafka: Kafka) -> None:
    kafka.faults.stale_metadata(topic="t")
    assert produce(kafka, b"x") == [0]


# What the scenarios say of clients


def small_topic(kafka: Kafka) -> None:
    kafka.create_topic("small", config={"max.message.bytes": 1000})


def test_librdkafka_does_not_split_a_batch_that_is_too_large(kafka: Kafka) -> None:
    small_topic(kafka)
    told: list[str] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 100, "log_level": 0})
    for value in (b"a" * 600, b"b" * 600):
        producer.produce("small", value, on_delivery=lambda error, message: told.append(error.name()))
    assert producer.flush(DEADLINE_S) == 0
    assert told == ["MSG_SIZE_TOO_LARGE"] * 2
    assert len(kafka.requests.of("Produce")) == 1


async def test_aiokafka_does_not_split_a_batch_that_is_too_large(kafka: Kafka) -> None:
    small_topic(kafka)
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, linger_ms=100)
    await producer.start()
    try:
        sent = [await producer.send("small", value) for value in (b"a" * 600, b"b" * 600)]
        told = await asyncio.gather(*sent, return_exceptions=True)
    finally:
        await producer.stop()
    assert [type(each) for each in told] == [MessageSizeTooLargeError] * 2
    assert len(kafka.requests.of("Produce")) == 1


@pytest.mark.parametrize(("idempotent", "stored"), [(False, 2), (True, 1)])
async def test_aiokafka_writes_twice_after_a_lost_answer_unless_it_is_idempotent(
    kafka: Kafka, idempotent: bool, stored: int
) -> None:
    kafka.faults.drop(api="Produce", when="after")
    await produce_by_aiokafka(kafka, b"x", enable_idempotence=idempotent)
    assert values(kafka) == [b"x"] * stored


@pytest.mark.parametrize(
    ("settings", "stored"),
    [({}, [b"b", b"a"]), ({"max_in_flight": 1}, [b"b", b"a"]), ({"enable_idempotence": True}, [b"a", b"b"])],
    ids=["many in flight", "one", "idempotent"],
)
def test_librdkafka_keeps_the_order_by_idempotence_only(
    kafka: Kafka, settings: dict[str, Any], stored: list[bytes]
) -> None:
    """With one request in flight, too: while a batch waits for retry.backoff.ms, the next one is sent."""
    kafka.faults.delay("100ms", api="Produce", after=1)
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", after=1)
    assert produce(kafka, b"first", b"a", b"b", batch_num_messages=1, linger_ms=0, **settings) == [0, 1, 2]
    assert values(kafka) == [b"first", *stored]


async def test_aiokafka_keeps_the_order(kafka: Kafka) -> None:
    kafka.faults.delay("100ms", api="Produce")
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS")
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, retry_backoff_ms=10, max_batch_size=1)
    await producer.start()
    try:
        await asyncio.gather(*[await producer.send("t", value) for value in (b"a", b"b")])
    finally:
        await producer.stop()
    assert values(kafka) == [b"a", b"b"]


async def test_aiokafka_gives_up_after_its_request_timeout(kafka: Kafka) -> None:
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", times=None)
    with pytest.raises(KafkaError):
        await produce_by_aiokafka(kafka, b"x", request_timeout_ms=300)


async def test_aiokafka_says_that_it_is_fenced(kafka: Kafka) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id="tx")
    await producer.start()
    try:
        await producer.begin_transaction()
        await producer.send_and_wait("t", b"x")
        await asyncio.to_thread(kafka.faults.fence_producer, "tx")
        with pytest.raises(ProducerFenced):
            await producer.commit_transaction()
    finally:
        with suppress(ProducerFenced):
            await producer.stop()
    assert values(kafka) == []
