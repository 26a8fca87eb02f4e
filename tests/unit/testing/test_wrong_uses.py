"""What a test is told that uses a Kafka in a way that there is not."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from stepdown.testing import Kafka, running
from stepdown.testing.control_client import ControlFailed
from stepdown.testing.own_brokers import OwnBrokers
from stepdown.testing.security.secured_listener import check_protocol

WRONG_USES: list[tuple[Callable[[Kafka], object], str]] = [
    (lambda kafka: kafka.faults.blackhole, "no 'blackhole'; did you mean black_hole?"),
    (lambda kafka: kafka.awaited.faults.blackhole, "no 'blackhole'; did you mean black_hole?"),
    (
        lambda kafka: kafka.cluster.move_leader("orders", to=2),  # type: ignore[call-arg]
        r"^Cluster.move_leader\(\) got .* 'to'; it takes topic, broker, partition",
    ),
    (lambda kafka: kafka.faults.error("Produce"), r"^Faults.error\(\) missing .* 'code'; it takes api, code, when"),  # type: ignore[call-arg]
    (lambda kafka: kafka.faults.error("Prodce", 6), "found 'Prodce'; did you mean Produce?"),
    (
        lambda kafka: kafka.faults.error("Produce", "NOT_LEADER"),
        "found 'NOT_LEADER'; did you mean NOT_LEADER_OR_FOLLOWER?",
    ),
    (lambda kafka: kafka.cluster.move_leader("orders"), "needs several brokers: kafka_cluster, @pytest.mark.kafka"),
    (lambda kafka: kafka.assert_produces("ordres", "x", timeout=0), "no topic ordres, there are: orders; did you mean"),
    (lambda kafka: kafka.wait_for_records("ordres", 1, timeout="1ms"), "no topic ordres, there are: orders; did you"),
    (lambda kafka: kafka.wait_for_records("orders", 1, timeout="soon"), "expected a time such as 45s, .* found 'soon'"),
    (lambda kafka: kafka.clients.confluent_kafka("alicia", "NOPE"), "mechanism is one of PLAIN, .* not 'NOPE'"),
    (lambda kafka: kafka.clients.kafka_python("alicia"), "users are of SSL, .* here security is PLAINTEXT"),
    (lambda kafka: kafka.clients.java("alice", "PLAIN"), "here security is PLAINTEXT"),
]


def test_a_wrong_use_is_told_with_what_there_is() -> None:
    """It named classes that a test does not see, gave no suggestion, or took a wrong login without a word."""
    with running(topics={"orders": 1}) as kafka:
        for act, said in WRONG_USES:
            with pytest.raises((AttributeError, TypeError, ValueError, AssertionError, ControlFailed), match=said):
                act(kafka)


@pytest.mark.parametrize("given, meant", [("TLS", "SSL"), ("SASL_TLS", "SASL_SSL"), ("sasl_ssl", "SASL_SSL")])
def test_a_protocol_that_is_misspelt_has_a_suggestion(given: str, meant: str) -> None:
    """All four were listed, and none was proposed."""
    with pytest.raises(ValueError, match=f"not '{given}'; did you mean {meant}"):
        check_protocol(given)


def test_a_topic_that_cannot_be_is_told_with_its_character() -> None:
    """It was a pattern out of the settings."""
    with pytest.raises(ValueError, match="topics: 'or ders' has ' '; a name has letters"):
        OwnBrokers(topics={"or ders": 1})


@pytest.mark.parametrize("by", ["46000", 46_000, "46s", timedelta(seconds=46)], ids=str)
def test_a_time_is_taken_as_its_message_says(by: str | int | timedelta) -> None:
    """A number as text was refused by a message that allowed a number, and a timedelta."""
    with running() as kafka:
        kafka.clock.pause()
        before = kafka.clock.now_ms
        kafka.clock.advance(by)
        assert kafka.clock.now_ms - before == 46_000


@pytest.mark.parametrize("timeout", ["1s", timedelta(seconds=1), 1, "1"], ids=str)
def test_a_wait_takes_a_time_as_all_else_does(timeout: str | int | timedelta) -> None:
    """A text was a TypeError in the event loop."""
    with running() as kafka:
        kafka.produce("orders", "x")
        assert len(kafka.wait_for_records("orders", 1, timeout=timeout)) == 1
