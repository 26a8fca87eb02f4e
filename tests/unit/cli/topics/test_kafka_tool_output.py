"""What Kafka's tools of 0.10.2.2 to 3.9.1 printed of the same five topics (tests/vectors/kafka_tools), read back."""

from pathlib import Path

import pytest
from stepdown.cli.topics.kafka_tool_output import NotUnderstood, ToolOutput

VECTORS = Path(__file__).parents[3] / "vectors" / "kafka_tools"
VERSIONS = ("0.10.2.2", "1.1.1", "2.8.2", "3.9.1")
SETTINGS = {
    "compacted": {"cleanup.policy": "compact", "segment.bytes": "20000"},
    "kept-for-ever": {"retention.ms": "-1", "segment.bytes": "20000"},
    "short-lived": {"retention.ms": "86400000", "segment.bytes": "20000"},
    "both": {"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "0.9", "segment.bytes": "20000"},
    "default": {},
}
OF_THE_BROKER = {"3.9.1": {"retention.ms": "-1"}}
"""Settings of the broker's file that kafka-topics shows as the topic's; each is in force with it as without it."""


TOPIC_A = "Topic:a\tPartitionCount:1\tReplicationFactor:1\tConfigs:"


def read(*names: str) -> ToolOutput:
    output = ToolOutput()
    for name in names:
        output.read((VECTORS / name).read_text().splitlines(), name)
    return output


def read_text(text: str) -> ToolOutput:
    output = ToolOutput()
    output.read(text.splitlines(), "topics.txt")
    return output


@pytest.mark.parametrize("version", VERSIONS)
def test_kafka_topics_gives_settings_and_numbers_of_partitions(version: str) -> None:
    topics = read(f"topics-{version}.txt").topics
    for name, settings in SETTINGS.items():
        assert topics[name].partitions == 2
        assert topics[name].configs == {**OF_THE_BROKER.get(version, {}), **settings}


@pytest.mark.parametrize("version", VERSIONS)
def test_kafka_configs_gives_settings(version: str) -> None:
    topics = read(f"configs-{version}.txt").topics
    assert {name: topics[name].configs for name in SETTINGS} == SETTINGS


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("order", [("topics", "configs"), ("configs", "topics")], ids=" before ".join)
def test_of_both_kafka_configs_counts(version: str, order: tuple[str, str]) -> None:
    topics = read(*(f"{tool}-{version}.txt" for tool in order)).topics
    assert {name: topics[name].configs for name in SETTINGS} == SETTINGS
    assert topics["default"].partitions == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "Topic:a\tPartitionCount:1\tReplicationFactor:1\tConfigs:retention.mss=1",
            "topic a: retention.mss is no topic",
        ),
        ("Topic:a\tPartitionCount:1\tReplicationFactor:1\tConfigs:retention.ms=x", "topic a: retention.ms: expected"),
        ("Configs for topic 'a' are retention.ms", "topic a: KEY=VALUE expected"),
        ("Dynamic configs of topic a are:", "neither"),
        ("hello", "neither kafka-topics nor kafka-configs"),
        ("Topic: a\tPartitionCount: many\tConfigs:", "neither"),
    ],
)
def test_what_cannot_be_read_is_named_with_file_line_and_topic(line: str, told: str) -> None:
    with pytest.raises(NotUnderstood) as fault:
        read_text(f"Configs for topic 'b' are \n{line}\n")
    assert "topics.txt, line 2: " in str(fault.value)
    assert told in str(fault.value)


def test_settings_of_the_broker_are_not_the_topics() -> None:
    topics = read_text(
        "All configs for topic a are:\n"
        "  retention.ms=5 sensitive=false synonyms={STATIC_BROKER_CONFIG:log.retention.ms=5}\n"
        "  segment.ms=7 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.ms=7, DEFAULT_CONFIG:log.roll.ms=1}\n"
    ).topics
    assert topics["a"].configs == {"segment.ms": "7"}
