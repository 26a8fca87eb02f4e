"""Defaults and topic settings of the releases that a broker may act as say what Kafka's jars say, and are in force."""

import pytest
from stepdown.config import ConfigError, load
from stepdown.config.describe_configs import describe_topic
from stepdown.config.layered_values import Source
from stepdown.config.release_defaults import defaults_of, missing_topic_settings
from stepdown.config.tables.all_keys import BROKER_KEYS
from stepdown.config.topic_settings_builder import topic_settings
from support.kafka_release_settings import NOT_FELT, RELEASES, TABLE, table


@pytest.mark.java
def test_the_table_is_what_kafkas_jars_say() -> None:
    assert TABLE.read_text() == table()


def test_a_broker_acts_as_each_release_of_the_table_and_no_other() -> None:
    for release in RELEASES:
        assert load(overrides=[f"stepdown.act.as={release}"]).settings.stepdown_act_as == release
    with pytest.raises(ConfigError, match=r"4\.4"):
        load(overrides=["stepdown.act.as=5.0"])


@pytest.mark.parametrize("release", RELEASES)
def test_each_default_of_a_release_is_the_value_in_force(release: str) -> None:
    """A pinned client met the defaults of 3.9 in every test."""
    layers = load(overrides=[f"stepdown.act.as={release}"]).layers
    for name, text in defaults_of(release).items():
        assert layers.value(name) == BROKER_KEYS[name].value_of(text)


def test_what_is_set_wins_over_the_default_of_a_release() -> None:
    settings = load(overrides=["stepdown.act.as=0.10.2", "offsets.retention.minutes=7"]).settings
    assert (settings.offsets_retention_minutes, settings.group_max_session_timeout_ms) == (7, 300_000)


def test_a_topic_has_the_defaults_of_the_release_and_they_are_told_as_defaults() -> None:
    layers = load(overrides=["stepdown.act.as=4.4"]).layers
    row = next(row for row in describe_topic(layers, {}) if row.name == "message.timestamp.after.max.ms")
    assert (row.value, row.source) == ("3600000", Source.DEFAULT)
    assert topic_settings(layers, {}).message_timestamp_after_max_ms == 3_600_000


@pytest.mark.parametrize("release", RELEASES)
def test_a_topic_may_not_set_what_the_release_does_not_have(release: str) -> None:
    """Kafka 4 refuses `message.format.version`, which a topic could still set in a test."""
    layers = load(overrides=[f"stepdown.act.as={release}"]).layers
    shown = {row.name for row in describe_topic(layers, {})}
    for name in missing_topic_settings(release):
        assert name not in shown
        with pytest.raises(ConfigError, match="no such topic setting"):
            topic_settings(layers, {name: "1"})


def test_each_setting_that_is_left_alone_is_one() -> None:
    assert NOT_FELT.keys() <= BROKER_KEYS.keys()
