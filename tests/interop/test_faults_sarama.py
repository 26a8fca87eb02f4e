"""Faults, and what Sarama makes of them: what the scenarios say of it."""

import subprocess
from collections.abc import Iterator

import pytest
from stepdown.testing import Kafka, running
from support.clients_go import go_clients
from support.deadline import DEADLINE_S

RETRIES = 3
"""Producer.Retry.Max, as it is where nobody sets it."""


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    with running() as broker:
        broker.create_topic("t", config={"max.message.bytes": 1000})
        yield broker
        broker.faults.assert_fired()


def produce(kafka: Kafka, *values: str, **settings: int) -> list[str]:
    """The offset of each value, or the error."""
    given = " ".join(f"{name.replace('_', '.')}={number}" for name, number in settings.items())
    command = [str(go_clients()), "produce-by-sarama", kafka.bootstrap, "t", given, *values]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def values(kafka: Kafka) -> list[bytes | None]:
    return [record.value for record in kafka.records("t")]


@pytest.mark.parametrize(
    ("settings", "stored"),
    [({}, 2), ({"Producer_Idempotent": 1, "Net_MaxOpenRequests": 1}, 1)],
    ids=["plain", "idempotent"],
)
def test_a_lost_acknowledgement_is_a_duplicate_unless_it_is_idempotent(
    kafka: Kafka, settings: dict[str, int], stored: int
) -> None:
    kafka.faults.drop(api="Produce", when="after")
    assert produce(kafka, "a", **settings) == [str(stored - 1)]
    assert values(kafka) == [b"a"] * stored


@pytest.mark.parametrize("code", ["NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"])
def test_an_error_that_passes_is_tried_again(kafka: Kafka, code: str) -> None:
    kafka.faults.error("Produce", code)
    assert produce(kafka, "a") == ["0"]


def test_it_gives_up_after_a_number_of_tries_and_not_after_a_time(kafka: Kafka) -> None:
    fault = kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", times=None)
    (error,) = produce(kafka, "a")
    assert "replicas" in error
    assert fault.hits == 1 + RETRIES


def test_a_batch_that_is_too_large_is_not_split(kafka: Kafka) -> None:
    told = produce(kafka, "a" * 600, "b" * 600, Producer_Flush_Messages=2)
    assert len(kafka.requests.of("Produce")) == 1
    assert ["Message was too large" in each for each in told] == [True, True], told
    assert values(kafka) == []


@pytest.mark.parametrize(
    ("settings", "told", "stored"),
    [
        ({}, ["0", "2", "1"], [b"first", b"b", b"a"]),
        ({"Net_MaxOpenRequests": 1}, ["0", "2", "1"], [b"first", b"b", b"a"]),
        ({"Net_MaxOpenRequests": 1, "Producer_Idempotent": 1}, ["0", "1", "out of order"], [b"first", b"a"]),
    ],
    ids=["five open requests", "one", "idempotent"],
)
def test_a_retry_comes_behind_what_was_handed_to_the_connection_or_fails_that(
    kafka: Kafka, settings: dict[str, int], told: list[str], stored: list[bytes]
) -> None:
    kafka.faults.delay("100ms", api="Produce", after=1)
    kafka.faults.error("Produce", "NOT_ENOUGH_REPLICAS", after=1)
    outcomes = produce(kafka, "first", "a", "b", Producer_Flush_MaxMessages=1, **settings)
    assert [want in found for want, found in zip(told, outcomes, strict=True)] == [True] * 3, outcomes
    assert values(kafka) == stored
