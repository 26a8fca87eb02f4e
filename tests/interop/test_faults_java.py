"""Faults, and what the Java client 3.9 makes of them."""

from collections.abc import Iterator
from typing import Any

import pytest
from stepdown.testing import Kafka, running
from support.clients import Message, Span
from support.clients_java import JAVA_3_9
from support.java_oracle import JavaError

pytestmark = pytest.mark.java
ONE = [Message(key=None, value=b"x")]


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running() as broker:
        broker.create_topic("t")
        yield broker
        broker.faults.assert_fired()


def produce(kafka: Kafka, **settings: str) -> None:
    JAVA_3_9.produce(kafka.bootstrap, "java", "t", 0, ONE, "none", retry_backoff_ms="5", **settings)


def stored(kafka: Kafka) -> int:
    return len(kafka.records("t"))


@pytest.mark.parametrize(
    ("kind", "fields", "idempotent", "plain"),
    [
        ("error", {"code": "NOT_LEADER_OR_FOLLOWER"}, 1, 1),
        ("error", {"code": "REQUEST_TIMED_OUT", "when": "after"}, 1, 2),
        ("error", {"code": "NOT_ENOUGH_REPLICAS"}, 1, 1),
        ("delay", {"delay": "50ms"}, 1, 1),
        ("throttle", {"delay": "50ms"}, 1, 1),
        ("drop", {}, 1, 1),
        ("drop", {"when": "after"}, 1, 2),
        ("drop", {"bytes": 6}, 1, 2),
        ("duplicate", {}, 2, 2),
        ("lose", {}, 0, 0),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else str(value),
)
def test_a_producer_goes_on(kafka: Kafka, kind: str, fields: dict[str, Any], idempotent: int, plain: int) -> None:
    kafka.faults.arm(kind, api="Produce", **fields)
    produce(kafka)
    assert stored(kafka) == idempotent
    kafka.faults.arm(kind, api="Produce", **fields)
    produce(kafka, enable_idempotence="false")
    assert stored(kafka) == idempotent + plain


def test_an_error_that_is_final_is_told(kafka: Kafka) -> None:
    kafka.faults.error("Produce", "MESSAGE_TOO_LARGE")
    with pytest.raises(JavaError, match="RecordTooLarge"):
        produce(kafka)


def test_a_batch_below_batch_size_is_split_into_itself_until_its_time_is_over(kafka: Kafka) -> None:
    """KAFKA-8350: it splits into batches of batch.size, whatever the topic takes."""
    kafka.create_topic("small", config={"max.message.bytes": 1000})
    values = [Message(key=None, value=letter * 600) for letter in (b"a", b"b")]
    times = {"delivery_timeout_ms": "1000", "request_timeout_ms": "900"}
    with pytest.raises(JavaError, match="Expiring 2 record"):
        JAVA_3_9.produce(kafka.bootstrap, "java", "small", 0, values, "none", linger_ms="50", **times)
    answers = [each.answer for each in kafka.requests.of("Produce")]
    assert len(answers) > 1 and answers == [["MESSAGE_TOO_LARGE"]] * len(answers)


@pytest.mark.parametrize(
    ("settings", "stored"),
    [
        ({"enable_idempotence": "false"}, [b"first", b"b", b"a"]),
        ({"enable_idempotence": "false", "max_in_flight_requests_per_connection": "1"}, [b"first", b"a", b"b"]),
        ({}, [b"first", b"a", b"b"]),
    ],
    ids=["five in flight", "one", "idempotent"],
)
def test_one_request_in_flight_or_idempotence_keeps_the_order(
    kafka: Kafka, settings: dict[str, str], stored: list[bytes]
) -> None:
    kafka.faults.delay("100ms", api="Produce", after=1)
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", after=1)
    values = [Message(key=None, value=value.ljust(100)) for value in (b"first", b"a", b"b")]  # no two in a batch
    JAVA_3_9.produce(kafka.bootstrap, "java", "t", 0, values, "none", linger_ms="0", batch_size="1", **settings)
    assert [(record.value or b"").strip() for record in kafka.records("t")] == stored


def test_a_black_hole_ends_with_the_delivery_timeout(kafka: Kafka) -> None:
    kafka.faults.black_hole(api="Produce", times=None)
    with pytest.raises(JavaError, match="Timeout"):
        produce(kafka, request_timeout_ms="200", delivery_timeout_ms="500")


def test_an_older_broker_gets_older_requests(kafka: Kafka) -> None:
    kafka.faults.versions("Produce", only="0-8")
    produce(kafka)
    assert kafka.requests.of("Produce")[0].version == 8


@pytest.mark.parametrize("code", ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR"])
def test_a_consumer_goes_on(kafka: Kafka, code: str) -> None:
    kafka.produce("t", b"x")
    kafka.faults.error("Fetch", code, topic="t")
    (received,) = JAVA_3_9.consume(kafka.bootstrap, "java", [Span(topic="t", partition=0, count=1)])
    assert received.message.value == b"x"


def test_a_wrong_checksum_is_refused(kafka: Kafka) -> None:
    kafka.produce("t", b"x")
    kafka.faults.corrupt("crc")
    with pytest.raises(JavaError, match="corrupt"):
        JAVA_3_9.consume(kafka.bootstrap, "java", [Span(topic="t", partition=0, count=1)])
