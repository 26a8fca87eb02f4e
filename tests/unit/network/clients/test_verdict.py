"""A verdict is no for what Kafka 4 dropped, and yes only where something was seen that tells."""

import pytest
from stepdown.network.clients.software import JAVA, Software, guess_software
from stepdown.network.clients.verdict import NOTHING_TELLS, ONLY_LOOKED, Compatibility, find_advice, judge_by_release
from stepdown.protocol.api import ApiKey
from stepdown.protocol.kafka_releases import broker_releases, find_removed_versions, kafka_4_releases

UNSAID = Software("unknown", "0.9", is_guess=True)
SAID = Software(JAVA, "3.9.1", is_guess=False)
REMOVED = [
    (key, version)
    for key in range(100)
    for version in find_removed_versions("4.4", key)
    if key != ApiKey.WRITE_TXN_MARKERS
]


def works_of(*asked: tuple[int, int], software: Software = UNSAID) -> set[Compatibility]:
    return {verdict.works for verdict in judge_by_release(asked, software)}


@pytest.mark.parametrize("asked", REMOVED, ids=lambda asked: f"{asked[0]}-v{asked[1]}")
def test_each_removed_version_is_a_no_whatever_else_was_seen(asked: tuple[int, int]) -> None:
    assert works_of(asked, (ApiKey.PRODUCE, 9), (ApiKey.FETCH, 11)) == {Compatibility.NO}


@pytest.mark.parametrize("api", [ApiKey.PRODUCE, ApiKey.FETCH], ids=lambda api: api.name)
def test_records_in_a_version_that_is_left_are_a_yes(api: ApiKey) -> None:
    assert works_of((ApiKey.METADATA, 0), (api, 4)) == {Compatibility.YES}


@pytest.mark.parametrize(
    "asked",
    [
        [(ApiKey.METADATA, 1)],
        [(ApiKey.API_VERSIONS, 0), (ApiKey.SASL_HANDSHAKE, 0)],
        [(ApiKey.FIND_COORDINATOR, 0), (ApiKey.OFFSET_FETCH, 1), (ApiKey.LIST_OFFSETS, 1)],
    ],
    ids=["metadata", "greetings", "a consumer before its first fetch"],
)
def test_what_an_old_client_sends_too_is_no_yes(asked: list[tuple[int, int]]) -> None:
    assert works_of(*asked) == {Compatibility.UNKNOWN}


def test_commands_of_stepdown_that_only_list_topics_need_no_mending() -> None:
    """They were told that they do not reach the address that they are given."""
    verdicts = judge_by_release([(ApiKey.METADATA, 12)], Software("stepdown", "3.9", is_guess=True))
    assert find_advice(verdicts, Software("stepdown", "3.9", is_guess=True)) == ""


def test_a_client_that_found_brokers_and_came_to_none_is_told_from_others() -> None:
    """It was said of it that it had sent nothing that tells, as of a consumer that waits for its group."""
    looked = [(ApiKey.API_VERSIONS, 3), (ApiKey.SASL_HANDSHAKE, 1), (ApiKey.METADATA, 12)]
    for asked, told in ((looked, ONLY_LOOKED), ([*looked, (ApiKey.FIND_COORDINATOR, 4)], NOTHING_TELLS)):
        verdicts = judge_by_release(asked, UNSAID)
        assert {verdict.because for verdict in verdicts} == {(told,)}
        assert ("`stepdown cluster -b" in find_advice(verdicts, UNSAID)) == (told == ONLY_LOOKED)


@pytest.mark.parametrize("name", ["kafka-node", "unknown"])
def test_who_uses_kafka_node_is_told_what_to_move_to(name: str) -> None:
    """Whose client id was his own was told to take a newer release, which there is not."""
    software, asked = Software(name, "0.10.1", is_guess=True), [(ApiKey.API_VERSIONS, 0), (ApiKey.FETCH, 2)]
    advice = find_advice(judge_by_release(asked, software), software, asked)
    assert "kafka-node" in advice
    assert "KafkaJS 2.x or confluent-kafka-javascript" in advice


@pytest.mark.parametrize(
    "asked",
    [
        [(ApiKey.PRODUCE, 1)],
        [(ApiKey.API_VERSIONS, 0), (ApiKey.FETCH, 3)],
        [(ApiKey.API_VERSIONS, 1), (ApiKey.FETCH, 2)],
    ],
    ids=["Java 0.9", "Fetch 3", "ApiVersions 1"],
)
def test_who_cannot_be_kafka_node_is_not_told_about_it(asked: list[tuple[int, int]]) -> None:
    """The operator of a Java 0.9 client was told what to use in place of kafka-node."""
    advice = find_advice(judge_by_release(asked, UNSAID), UNSAID, asked)
    assert "Kafka 2.1" in advice
    assert "kafka-node" not in advice


def test_a_consumer_that_names_its_software_need_not_fetch_first() -> None:
    assert works_of((ApiKey.LIST_OFFSETS, 5), software=SAID) == {Compatibility.YES}


def test_administration_alone_is_a_yes() -> None:
    assert works_of((ApiKey.CREATE_TOPICS, 2), (ApiKey.METADATA, 4)) == {Compatibility.YES}


def test_join_group_1_fails_with_4_0_0_alone() -> None:
    verdicts = judge_by_release([(ApiKey.FETCH, 4), (ApiKey.JOIN_GROUP, 1)], UNSAID)
    assert [verdict.release for verdict in verdicts if verdict.works is Compatibility.NO] == ["4.0.0"]
    assert verdicts[0].because == ("JoinGroup 1 (2 is the oldest there)",)


def test_what_was_asked_of_3_9_in_its_newest_version_has_a_verdict_for_each_release() -> None:
    assert [verdict.release for verdict in judge_by_release([(ApiKey.FETCH, 17)], SAID)] == list(kafka_4_releases())
    assert set(kafka_4_releases()) < set(broker_releases())


def test_a_newer_version_than_a_release_has_is_no_no() -> None:
    """A client that asked 4.4 for ListOffsets 11 was said not to work with 4.0."""
    assert works_of((ApiKey.LIST_OFFSETS, 11), (ApiKey.FETCH, 18), software=SAID) == {Compatibility.YES}


def test_a_request_that_is_gone_altogether_says_so() -> None:
    assert judge_by_release([(9999, 0)], UNSAID)[0].because == ("API 9999 0 (it is not there)",)


@pytest.mark.parametrize("software", [guess_software("stepdown-cli", ()), Software("stepdown", "0.1.0", False)])
def test_nobody_is_told_to_mend_a_command_of_stepdown(software: Software) -> None:
    """`stepdown produce --as v1` was to be mended by another client library."""
    assert software.is_stepdown
    advice = find_advice(judge_by_release([(ApiKey.PRODUCE, 1)], software), software)
    assert advice.startswith("none needed: stepdown sends")


def test_a_mend_is_told_to_those_who_need_one() -> None:
    old = judge_by_release([(ApiKey.FETCH, 1)], UNSAID)
    assert find_advice(old, guess_software("sarama", [(ApiKey.FETCH, 1)])).startswith("Sarama 1.29")
    assert "Kafka 2.1" in find_advice(old, UNSAID)
    assert find_advice(judge_by_release([(ApiKey.FETCH, 4)], UNSAID), UNSAID) == ""


@pytest.mark.parametrize(
    ("client_id", "name"),
    [
        ("kafka-python-2.0.2", "kafka-python"),
        ("rdkafka", "librdkafka"),
        ("consumer-orders-1", JAVA),
        ("producer-1", JAVA),
        ("my app (github.com/segmentio/kafka-go)", "kafka-go"),
        ("kafka-node-client", "kafka-node"),
        ("payments", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_default_client_ids_tell_the_library(client_id: str, name: str) -> None:
    assert guess_software(client_id, []).name == name


@pytest.mark.parametrize(
    ("asked", "release"),
    [
        ([(ApiKey.METADATA, 0)], "0.8.2"),
        ([(ApiKey.METADATA, 0), (ApiKey.PRODUCE, 1)], "0.9"),
        ([(ApiKey.METADATA, 1), (ApiKey.FETCH, 3)], "0.10.1"),
        ([(ApiKey.PRODUCE, 3)], "0.11"),
    ],
)
def test_the_newest_version_asked_tells_the_age(asked: list[tuple[int, int]], release: str) -> None:
    guess = guess_software("x", asked)
    assert (guess.version, guess.guess_labels) == (release, ("unknown (guess)", f"{release} (guess)"))
