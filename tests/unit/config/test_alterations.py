import pytest
from stepdown.config import (
    BROKER_KEYS,
    TOPIC_KEYS,
    Alteration,
    ConfigError,
    Layers,
    Operation,
    alter,
    broker_settings,
    load,
    topic_settings,
    with_dynamic_values,
)


@pytest.fixture
def layers() -> Layers:
    return load(overrides=["num.io.threads=8"]).layers


def test_a_dynamic_value_reaches_the_settings(layers: Layers) -> None:
    changed = with_dynamic_values(layers, broker={"max.connections": "5"}, cluster={"log.retention.ms": "9"})
    assert broker_settings(changed).max_connections == 5
    assert topic_settings(changed, {}).retention_ms == 9
    assert broker_settings(layers).max_connections != 5


def test_taking_a_dynamic_value_away_brings_the_start_value_back(layers: Layers) -> None:
    changed = with_dynamic_values(layers, broker={"num.io.threads": "16"})
    assert broker_settings(with_dynamic_values(changed, broker={})).num_io_threads == 8


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"socket.request.max.bytes": "1"}, "cannot change while the broker runs"),
        ({"max.conections": "1"}, r"did you mean max\.connections\?"),
        ({"retention.ms": "1"}, r"the broker's default is log\.retention\.ms"),
        ({"max.connections": "-1"}, "of at least 0"),
        ({"num.io.threads": "3"}, "from 4 to 16, half to double the present 8"),
        ({"num.io.threads": "17"}, "from 4 to 16, half to double the present 8"),
        ({"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"}, "at most log.cleaner"),
        ({"listeners": "SSL://:1"}, r"listener\.name\.ssl\.ssl\.keystore\.location: expected a file"),
    ],
)
def test_a_change_that_cannot_be_is_refused(layers: Layers, texts: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        with_dynamic_values(layers, broker=texts)


def test_what_belongs_to_one_broker_is_no_default_of_the_cluster(layers: Layers) -> None:
    with pytest.raises(ConfigError, match="only be set for one broker"):
        with_dynamic_values(layers, cluster={"listeners": "PLAINTEXT://:1"})
    with_dynamic_values(layers, broker={"listeners": "PLAINTEXT://:1"})


def test_keys_of_listeners_and_plugins_may_be_set(layers: Layers) -> None:
    assert with_dynamic_values(layers, broker={"listener.name.a.ssl.keystore.type": "PEM"}).broker


def test_a_value_that_stays_is_not_judged_again(layers: Layers) -> None:
    doubled = with_dynamic_values(layers, broker={"num.io.threads": "16"})
    assert with_dynamic_values(doubled, broker={"num.io.threads": "16", "max.connections": "1"})


def after(current: dict[str, str], *alterations: Alteration) -> dict[str, str]:
    return alter(current, alterations, TOPIC_KEYS)


def test_alterations_set_and_delete() -> None:
    changes = (Alteration("retention.ms", Operation.SET, "1"), Alteration("segment.ms", Operation.DELETE))
    assert after({"segment.ms": "2", "flush.ms": "3"}, *changes) == {"flush.ms": "3", "retention.ms": "1"}


@pytest.mark.parametrize(
    ("current", "operation", "text", "expected"),
    [
        ({}, Operation.APPEND, "compact", "delete,compact"),
        ({"cleanup.policy": "compact"}, Operation.APPEND, "compact,delete", "compact,delete"),
        ({"cleanup.policy": "compact,delete"}, Operation.SUBTRACT, "delete", "compact"),
        ({}, Operation.SUBTRACT, "compact", "delete"),
        ({"cleanup.policy": "compact, compact,,delete"}, Operation.SUBTRACT, "compact,", "compact,delete"),
        ({"cleanup.policy": "compact,compact"}, Operation.APPEND, "delete,,delete ", "compact,compact,delete"),
    ],
)
def test_lists_are_appended_to_and_subtracted_from(
    current: dict[str, str], operation: Operation, text: str, expected: str
) -> None:
    assert after(current, Alteration("cleanup.policy", operation, text)) == {"cleanup.policy": expected}


@pytest.mark.parametrize("operation", [Operation.APPEND, Operation.SUBTRACT])
def test_only_lists_are_appended_to(operation: Operation) -> None:
    with pytest.raises(ConfigError, match="its type is not a list"):
        alter({}, [Alteration("num.partitions", operation, "1")], BROKER_KEYS)


@pytest.mark.parametrize("operation", [Operation.SET, Operation.APPEND])
def test_a_value_too_long_for_the_metadata_is_refused_before_it_is_written(operation: Operation) -> None:
    """It was an unexpected failure, with a traceback in the log."""
    with pytest.raises(ConfigError, match="at most 32767 bytes"):
        after({}, Alteration("leader.replication.throttled.replicas", operation, "1:1," * 9_000 + "é" * 16_384))
