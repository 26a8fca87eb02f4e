import pytest
from stepdown.config import ConfigError, Layers, TopicSettings, load, topic_settings

MAX_LONG = 2**63 - 1
HOUR = 3_600_000


def topic(*overrides: str, broker: tuple[str, ...] = ()) -> TopicSettings:
    own = dict(override.split("=", 1) for override in overrides)
    return topic_settings(load(overrides=broker).layers, own)


def test_a_topics_own_value_wins_over_the_brokers() -> None:
    assert topic("retention.ms=1", broker=("log.retention.ms=2",)).retention_ms == 1
    assert topic(broker=("log.retention.ms=2",)).retention_ms == 2


@pytest.mark.parametrize(
    ("broker", "retention_ms"),
    [
        (("log.retention.ms=5", "log.retention.minutes=1", "log.retention.hours=1"), 5),
        (("log.retention.minutes=1", "log.retention.hours=1"), 60_000),
        (("log.retention.hours=1",), HOUR),
        ((), 168 * HOUR),
        (("log.retention.hours=-1",), -1),
        (("log.retention.ms=-5",), -1),
    ],
)
def test_the_first_synonym_that_is_set_counts_in_its_own_unit(broker: tuple[str, ...], retention_ms: int) -> None:
    assert topic(broker=broker).retention_ms == retention_ms


def test_rolling_by_hours_counts_unless_milliseconds_are_set() -> None:
    assert topic(broker=("log.roll.hours=2", "log.roll.jitter.hours=1")).segment_ms == 2 * HOUR
    assert topic(broker=("log.roll.hours=2", "log.roll.ms=7")).segment_ms == 7
    assert topic(broker=("log.roll.jitter.hours=1",)).segment_jitter_ms == HOUR


def test_the_flush_interval_falls_back_to_the_schedulers() -> None:
    assert topic(broker=("log.flush.scheduler.interval.ms=9",)).flush_ms == 9
    assert topic(broker=("log.flush.scheduler.interval.ms=9", "log.flush.interval.ms=8")).flush_ms == 8
    assert topic().flush_ms == MAX_LONG


def test_dynamic_values_come_before_static_ones_and_the_brokers_before_the_clusters() -> None:
    static, cluster, broker = ({"log.retention.ms": text} for text in ("1", "2", "3"))
    assert topic_settings(Layers(static, cluster, broker), {}).retention_ms == 3
    assert topic_settings(Layers(static, cluster), {}).retention_ms == 2
    assert topic_settings(Layers(static), {}).retention_ms == 1


def test_a_dynamic_value_comes_before_another_synonym_in_the_file() -> None:
    layers = Layers(static={"log.retention.ms": "1"}, cluster={"log.retention.ms": "2"})
    assert topic_settings(layers, {}).retention_ms == 2


def test_the_old_timestamp_bound_stands_in_where_the_new_ones_are_not_set() -> None:
    assert topic("message.timestamp.difference.max.ms=7").message_timestamp_before_max_ms == 7
    assert topic("message.timestamp.difference.max.ms=7").message_timestamp_after_max_ms == 7
    found = topic("message.timestamp.difference.max.ms=7", "message.timestamp.after.max.ms=3")
    assert (found.message_timestamp_before_max_ms, found.message_timestamp_after_max_ms) == (7, 3)
    assert topic(broker=("log.message.timestamp.difference.max.ms=9",)).message_timestamp_before_max_ms == 9


def test_the_cleanup_policy_may_be_both() -> None:
    found = topic("cleanup.policy=compact, delete")
    assert found.is_compacted
    assert found.deletes_old_segments


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("retention.mss=1", "no such topic setting; did you mean retention.ms?"),
        ("log.retention.hours=1", "a setting of brokers; that of topics is retention.ms"),
        ("retention.ms=-2", "expected a 64-bit integer of at least -1, found '-2'"),
        ("cleanup.policy=compress", "expected a comma separated list out of compact, delete"),
        ("compression.gzip.level=0", "from 1 to 9, or -1"),
        ("remote.storage.enable=true", "equal to false"),
        ("min.cleanable.dirty.ratio=1.5", "from 0 to 1"),
        ("segment.bytes=13", "of at least 14"),
    ],
)
def test_a_wrong_topic_setting_is_refused(override: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected.replace("?", r"\?")):
        topic(override)


def test_the_compaction_lags_may_not_cross() -> None:
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms: expected at most max\.compaction\.lag\.ms"):
        topic("min.compaction.lag.ms=2", "max.compaction.lag.ms=1")
