"""What a test is told that uses a Kafka in a way that there is not."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from stepdown.broker.faults.field_parsers import OTHER_CODES
from stepdown.config import ConfigError
from stepdown.protocol.errors import ErrorCode
from stepdown.testing import Kafka, KafkaError, NoAnswer, Unreachable, running
from stepdown.testing.control_client import ControlFailed
from stepdown.testing.own_brokers import OwnBrokers
from stepdown.testing.security.secured_listener import check_protocol
from stepdown.testing.wire.config_values import as_config_value

REFUSALS = (AttributeError, TypeError, ValueError, AssertionError, ControlFailed, KafkaError)
# The fault of each of these is in the docstring of the test below.
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
    (
        lambda kafka: kafka.assert_produces("ordres", "x", timeout=0),
        "^1 record expected within 0 s; there is no topic ordres, there are: orders; did you m",
    ),
    (
        lambda kafka: kafka.wait_for_records("ordres", 1, timeout="1ms"),
        "^1 record expected within 0.001 s; there is no topic ordres",
    ),
    (lambda kafka: kafka.wait_for_records("orders", 1, timeout="soon"), "expected a time such as 45s, .* found 'soon'"),
    (lambda kafka: kafka.clients.confluent_kafka("alicia", "NOPE"), "mechanism is one of PLAIN, .* not 'NOPE'"),
    (lambda kafka: kafka.clients.kafka_python("alicia"), "users are of SSL, .* here security is PLAINTEXT"),
    (lambda kafka: kafka.kill(1), r"^Kafka has no 'kill'; did you mean kafka\.cluster\.kill\?$"),  # type: ignore[attr-defined]
    (lambda kafka: kafka.awaited.advance, r"^AsyncKafka has no 'advance'; did you mean kafka\.clock\.advance\?$"),  # type: ignore[attr-defined]
    (lambda kafka: kafka.bootstrap_servers, r"no 'bootstrap_servers'; did you mean bootstrap\?$"),  # type: ignore[attr-defined]
    (lambda kafka: kafka.zzz, r"^Kafka has assert_produces, .* and no 'zzz'$"),  # type: ignore[attr-defined]
    (lambda kafka: kafka.requests.of("Fetch", client="c"), "takes api, client_id; did you mean client_id"),  # type: ignore[call-arg]
    (
        lambda kafka: kafka.faults.delay("Produce", "1s"),  # type: ignore[call-arg, arg-type]
        r"it takes delay, when, broker, .*, client_id, group, api: say api='Produce'$",
    ),
    (lambda kafka: kafka.faults.delay("Produce"), "delay: expected a time .*, found 'Produce'; say api='Produce'"),
    (lambda kafka: kafka.faults.corrupt("Fetch"), "what: expected .*, found 'Fetch'; say api='Fetch'"),
    (lambda kafka: kafka.clock.advance("100000d"), "by: expected a time of at most 36525d, found '100000d'"),
    (
        lambda kafka: kafka.clock.advance(0.5),
        "by: expected a whole number of milliseconds, or .* such as 0.5s, found 0.5",
    ),  # type: ignore[arg-type]
    (lambda kafka: kafka.clock.advance(seconds=46), r"^Clock.advance\(\) got .* it takes by: say by='46s'$"),  # type: ignore[call-arg]
    (
        lambda kafka: kafka.create_topic("week", config={"retention.ms": "7days"}),
        r"^creating topic week: retention.ms: expected .* of at least -1, or a time such as 45s, .* found '7days' ",
    ),
    (lambda kafka: kafka.create_topic("week", config={"retention": "1h"}), "; did you mean retention.ms?"),
    (
        lambda kafka: kafka.create_topic("week", config={"log.retention.ms": "7d"}),
        "log.retention.ms: a setting of brokers; that of topics is retention.ms",
    ),
    (
        lambda kafka: kafka.create_topic("o", 3, 3),  # type: ignore[misc]
        r"^Kafka.create_topic\(\) does not take 3 arguments without a name; .*: say replication_factor=3$",
    ),
    (
        lambda kafka: kafka.faults.error("NOT_COORDINATOR", "Fetch"),
        "found 'NOT_.*; that is an error code: the API come",
    ),
    (lambda kafka: kafka.clock.zzz, "^Clock has advance, now_ms, pause, resume, and no 'zzz'$"),  # type: ignore[attr-defined]
    (lambda kafka: kafka.faults.error("Produce", "NONE"), "or 6, found 'NONE'$"),
    (lambda kafka: kafka.faults.error("Produce", "_MSG_TIMED_OUT"), "of librdkafka, made in the client: use black_ho"),
    (lambda kafka: kafka.faults.error("Produce", -192), "of librdkafka, made in the client: use black_hole or delay"),
    (lambda kafka: kafka.clock.advance("-1s"), "by: expected a time that is not negative, found '-1s'"),
    (
        lambda kafka: kafka.clock.advance("1y"),
        r"such as 45s, 500ms or 1h30m \(of ms, s, m, h, d, w\), or a number of mil",
    ),
    (
        lambda kafka: kafka.wait_for_records("orders", 1, timeout="1y"),
        r"1h30m \(of .*\), or a number of seconds, found",
    ),
    (lambda kafka: kafka.cluster.pause(2), "there is no broker 2, only broker 1; kafka_cluster, @pytest.mark.kafka"),
    (lambda kafka: kafka.wait_for_group("nobody", timeout=0), "^there is no group nobody after 0 s; expected: Stable$"),
    (lambda kafka: kafka.wait_for_consumers("nobody", timeout=0), "^after 0 s: there is no group nobody"),
    (lambda kafka: kafka.clients.java("alice", "PLAIN"), "here security is PLAINTEXT"),
]


def test_a_wrong_use_is_told_with_what_there_is() -> None:
    """It named classes that a test does not see, gave no suggestion, or took a wrong login without a word.

    Later: a method of a part was answered by forty names, what exists by a field "scope", each wrong time by one text.
    Then `self` counted as an argument, a wrong time had no topic, and what is missing did not say what was expected.
    """
    with running(topics={"orders": 1}) as kafka:
        kafka.group("nobody")  # so that there is a coordinator, which a wait of no time does not wait for
        for act, said in WRONG_USES:
            with pytest.raises(REFUSALS, match=said):
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


@pytest.mark.parametrize("kind", ["hold", "drop", "black_hole", "duplicate", "lose"])
def test_the_first_argument_is_the_api_as_of_an_error(kind: str) -> None:
    """Only `error` took it there: the others failed by their number of arguments."""
    with running() as kafka:
        getattr(kafka.faults, kind)("Produce", optional=True)
        (armed,) = kafka.faults
        assert armed["fault"]["kind"] == kind and armed["fault"].get("api") in (["Produce"], "Produce")


def test_what_other_clients_call_an_error_code_is_taken() -> None:
    """librdkafka's NOT_LEADER_FOR_PARTITION was no error code of Kafka, without a suggestion."""
    fault = pytest.importorskip("confluent_kafka").KafkaError
    same = {name: ErrorCode(getattr(fault, name)) for name in dir(fault) if name in OTHER_CODES}
    assert same == {name: OTHER_CODES[name] for name in same} and "NOT_LEADER_FOR_PARTITION" in same
    with running() as kafka:
        kafka.faults.error("Produce", "NOT_LEADER_FOR_PARTITION", optional=True)
        (armed,) = kafka.faults
        assert armed["fault"]["code"] == "NOT_LEADER_OR_FOLLOWER"


def test_an_error_of_the_client_is_taken_as_a_code() -> None:
    """confluent_kafka's object was no error code of Kafka."""
    fault = pytest.importorskip("confluent_kafka").KafkaError
    with running() as kafka:
        kafka.faults.error("Produce", fault(fault.TOPIC_AUTHORIZATION_FAILED), optional=True)
        (armed,) = kafka.faults
        assert armed["fault"]["code"] == "TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("error", [ControlFailed, KafkaError, NoAnswer, Unreachable])
def test_an_exception_is_named_as_tests_import_it(error: type[Exception]) -> None:
    """It was `stepdown.testing.control_client.C...` in pytest's summary."""
    assert error.__module__ == "stepdown.testing"


async def test_a_wrong_time_is_told_beside_all_else_that_is_wrong() -> None:
    """It was the only one of three wrong settings that was named."""
    with pytest.raises(ConfigError) as told:
        async with running(config={"num.partitions": "x", "log.retention.ms": "7 days", "foo.bar": 1}):
            pass
    assert [problem.key for problem in told.value.problems] == ["num.partitions", "log.retention.ms", "foo.bar"]


def test_a_setting_is_given_as_python_has_it() -> None:
    """A list was its repr, and a time of a setting in milliseconds was no number."""
    assert as_config_value("group.coordinator.rebalance.protocols", ["classic", "consumer"]) == "classic,consumer"
    assert as_config_value("log.retention.ms", "1h") == "3600000"
    assert as_config_value("log.retention.ms", timedelta(hours=1)) == "3600000"
    assert as_config_value("log.retention.ms", -1) == "-1" and as_config_value("log.retention.ms", "-2") == "-2"
    assert as_config_value("log.retention.hours", 1) == "1" and as_config_value("x", True) == "true"


def test_a_broker_that_does_not_run_is_named_with_what_starts_it() -> None:
    """It was "the broker does not run"."""
    with running() as kafka:
        kafka.cluster.kill(1)
        with pytest.raises(ControlFailed, match=r"broker 1 does not run: kafka\.cluster\.start\(\)"):
            kafka.cluster.pause(1)


def test_what_is_too_old_is_gone_once_the_clock_was_moved_on() -> None:
    """It stayed until the next check, five minutes of the brokers' time later."""
    with running(config={"log.retention.ms": "1m"}) as kafka:
        kafka.produce("orders", "x")
        kafka.clock.advance("62s")
        assert kafka.records("orders") == []


@pytest.mark.parametrize(
    "act", [lambda kafka: kafka.assert_produces("ordres", "x", timeout=0)], ids=["assert_produces"]
)
def test_a_failure_is_one_traceback(act: Callable[[Kafka], object]) -> None:
    """A topic that is misspelt was two, of which the first said what the second made useless."""
    with running(topics={"orders": 1}) as kafka, pytest.raises(AssertionError) as told:
        act(kafka)
    assert told.value.__suppress_context__ or told.value.__context__ is None


def test_a_state_of_a_group_is_taken_in_any_case() -> None:
    """ "dead" was no state of a group, beside "Dead"."""
    with running() as kafka:
        assert kafka.wait_for_group("nobody", "dead").state == "Dead"


async def test_topics_that_cannot_be_made_end_the_start() -> None:
    """The topic was missing, one line of the log said so, and the producer made another one in its place."""
    with pytest.raises(ConfigError, match=r"^topics: topic orders cannot be made: at least 1 partition expected"):
        async with running(topics={"orders": 0}):
            pass
