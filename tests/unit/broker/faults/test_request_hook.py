"""A hook decides about requests: it answers, closes, is silent, or lets them pass; seen by real clients."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from stepdown.testing import CLOSE, PASS, SILENCE, HookedRequest, Kafka, running
from stepdown.testing.control_client import ControlFailed, HttpControl
from stepdown.testing.elsewhere import connect
from support.deadline import DEADLINE_S


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running() as broker:
        broker.create_topic("t", 2)
        yield broker


def produce(kafka: Kafka, partition: int = 0, *, retries: int = 0, timeout_ms: int = 10_000) -> list[str]:
    """Of librdkafka: the names of the errors of one record, none for success."""
    settings: dict[str, Any] = {
        "bootstrap.servers": kafka.bootstrap,
        "client.id": "app",
        "retries": retries,
        "retry.backoff.ms": 5,
        "reconnect.backoff.ms": 5,
        "message.timeout.ms": timeout_ms,
    }
    errors: list[str] = []

    def delivered(error: KafkaError | None, message: object) -> None:
        if error is not None:
            errors.append(error.name())

    producer = Producer(settings)
    producer.produce("t", b"x", partition=partition, on_delivery=delivered)
    assert producer.flush(DEADLINE_S) == 0
    return errors


def test_a_hook_sees_the_parsed_request_and_who_sent_it(kafka: Kafka) -> None:
    seen: list[HookedRequest] = []

    async def look(request: HookedRequest) -> Any:
        seen.append(request)
        return PASS

    hook = kafka.faults.hook(look, api="Produce")
    assert produce(kafka, 1) == []
    (request,) = seen
    assert (request.api, request.client_id, request.broker) == ("Produce", "app", 1)
    assert request.body.topic_data[0].partition_data[0].index == 1
    assert request.connection.startswith("127.0.0.1:") and request.version >= 7
    assert hook.hits == 1 and len(kafka.records("t")) == 1


def test_it_refuses_what_it_likes_and_lets_the_rest_pass(kafka: Kafka) -> None:
    async def refuse_partition_1(request: HookedRequest) -> Any:
        is_1 = request.body.topic_data[0].partition_data[0].index == 1
        return request.refused("TOPIC_AUTHORIZATION_FAILED") if is_1 else PASS

    kafka.faults.hook(refuse_partition_1, api="Produce")
    assert (produce(kafka, 0), produce(kafka, 1)) == ([], ["TOPIC_AUTHORIZATION_FAILED"])
    assert [record.partition for record in kafka.records("t")] == [0]


def test_it_changes_what_the_broker_answers(kafka: Kafka) -> None:
    offsets = []

    async def far_away(request: HookedRequest) -> Any:
        response = await request.answered()
        (topic,) = response.responses
        (partition,) = topic.partition_responses
        moved = replace(topic, partition_responses=(replace(partition, base_offset=1000),))
        return replace(response, responses=(moved,))

    kafka.faults.hook(far_away, api="Produce")
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce("t", b"x", partition=0, on_delivery=lambda _, message: offsets.append(message.offset()))
    assert producer.flush(DEADLINE_S) == 0
    assert offsets == [1000]
    assert [record.offset for record in kafka.records("t")] == [0]


@pytest.mark.parametrize(("is_refused", "stored"), [(False, 1), (True, 0)])
def test_a_write_without_acknowledgement_is_written_or_closed(kafka: Kafka, is_refused: bool, stored: int) -> None:
    async def decide(request: HookedRequest) -> Any:
        return request.refused("INVALID_RECORD") if is_refused else await request.answered()

    hook = kafka.faults.hook(decide, api="Produce")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": 0})
    producer.produce("t", b"x", partition=0)
    producer.flush(DEADLINE_S)
    hook.wait()
    assert len(kafka.wait_for_records("t", stored) if stored else kafka.records("t")) == stored
    kafka.faults.assert_fired()


def test_it_closes_the_connection(kafka: Kafka) -> None:
    answers = [CLOSE, PASS]

    async def close_once(request: HookedRequest) -> Any:
        return answers.pop(0)

    hook = kafka.faults.hook(close_once, api="Produce", times=2)
    assert produce(kafka, retries=5) == []
    assert hook.hits == 2
    assert [request.answer for request in kafka.requests.of("Produce")] == [None, []]


@pytest.mark.lengthy
def test_it_never_answers(kafka: Kafka) -> None:
    async def silent(request: HookedRequest) -> Any:
        return SILENCE

    kafka.faults.hook(silent, api="Produce")
    assert produce(kafka, timeout_ms=300) == ["_MSG_TIMED_OUT"]
    assert kafka.records("t") == []


def test_in_a_cluster_it_knows_the_broker() -> None:
    brokers = []

    async def note(request: HookedRequest) -> Any:
        brokers.append(request.broker)
        return PASS

    with running(brokers=3) as kafka:
        kafka.create_topic("t")
        kafka.faults.hook(note, api="Produce", client_id="app")
        assert produce(kafka) == []
        assert brokers == [kafka.partition("t").leader]


@pytest.mark.parametrize(("result", "said"), [(None, "a hook returns PASS"), (ZeroDivisionError("oh"), "oh")])
def test_a_hook_that_fails_fails_the_test(kafka: Kafka, result: Any, said: str) -> None:
    async def fail(request: HookedRequest) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    hook = kafka.faults.hook(fail, api="Produce", times=1)
    assert produce(kafka, retries=5) == []
    with pytest.raises(AssertionError, match=said):
        hook.wait()
    with pytest.raises(AssertionError, match=said):
        kafka.faults.assert_fired()


def test_only_an_async_function_of_this_process_is_a_hook(kafka: Kafka) -> None:
    with pytest.raises(ControlFailed, match="function: expected an async function, which only Python can give"):
        kafka.faults.hook(lambda request: PASS)
    with pytest.raises(ControlFailed, match="function: expected an async function"):
        kafka.faults.arm("hook", function="os.abort")

    async def never(request: HookedRequest) -> Any:
        return PASS

    elsewhere = connect("127.0.0.1:9", HttpControl("127.0.0.1:9"))
    with elsewhere as other, pytest.raises(ControlFailed, match="a hook runs where the brokers do"):
        other.faults.hook(never)
