from stepdown.config import ConfigRow, Layers, Source, describe_broker, describe_cluster_defaults, describe_topic, load
from stepdown.config.tables.all_keys import TOPIC_KEYS

CODES = {"boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5, "double": 6, "list": 7, "class": 8, "password": 9}


def row_of(rows: list[ConfigRow], name: str) -> ConfigRow:
    return next(row for row in rows if row.name == name)


def synonyms_of(row: ConfigRow) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in row.synonyms]


def test_a_topic_has_every_topic_setting_and_none_is_read_only() -> None:
    rows = describe_topic(Layers(), {})
    assert {row.name for row in rows} == {name for name, key in TOPIC_KEYS.items() if not key.internal}
    assert not any(row.read_only or row.sensitive for row in rows)
    assert all(row.source is Source.DEFAULT for row in rows)


def test_an_internal_topic_setting_is_shown_where_it_is_set() -> None:
    rows = describe_topic(Layers(), {"stepdown.settings.unknown": "true"})
    assert {row.name for row in rows} == set(TOPIC_KEYS)


def test_a_topic_value_names_its_source_and_what_it_would_be_otherwise() -> None:
    layers = Layers({"log.retention.ms": "1"}, {"log.retention.ms": "2"}, {"log.retention.ms": "3"})
    row = row_of(describe_topic(layers, {"retention.ms": " 9"}), "retention.ms")
    assert (row.value, row.source) == ("9", Source.TOPIC)
    assert synonyms_of(row) == [
        ("retention.ms", "9", 1),
        ("log.retention.ms", "3", 2),
        ("log.retention.ms", "2", 3),
        ("log.retention.ms", "1", 4),
        ("log.retention.hours", "168", 5),
    ]


def test_a_topic_value_out_of_hours_is_shown_in_milliseconds_with_its_real_source() -> None:
    row = row_of(describe_topic(load(overrides=["log.retention.hours=1"]).layers, {}), "retention.ms")
    assert (row.value, row.source) == ("3600000", Source.STATIC_BROKER)


def test_the_broker_shows_start_values_dynamic_values_and_defaults() -> None:
    layers = Layers({"num.partitions": "3", "max.connections": "9"}, {}, {"max.connections": "5"})
    rows = describe_broker(layers)
    partitions, connections = row_of(rows, "num.partitions"), row_of(rows, "max.connections")
    assert (partitions.value, partitions.source, partitions.read_only) == ("3", Source.STATIC_BROKER, True)
    assert (connections.value, connections.source, connections.read_only) == ("5", Source.DYNAMIC_BROKER, False)
    assert row_of(rows, "log.dirs").value is None


def test_a_secret_has_no_value() -> None:
    row = row_of(describe_broker(Layers({"ssl.key.password": "hidden"})), "ssl.key.password")
    assert (row.value, row.sensitive) == (None, True)
    assert synonyms_of(row) == [("ssl.key.password", None, 4)]


def test_internal_settings_are_shown_only_when_they_are_set() -> None:
    name = "log.initial.task.delay.ms"
    assert not [row for row in describe_broker(Layers()) if row.name == name]
    assert row_of(describe_broker(Layers({name: "1"})), name).value == "1"


def test_the_defaults_of_the_cluster_are_only_what_was_set_dynamically() -> None:
    layers = Layers({"num.partitions": "3"}, {"log.retention.ms": "2"}, {"log.retention.ms": "3"})
    (row,) = describe_cluster_defaults(layers)
    assert (row.name, row.value, row.source) == ("log.retention.ms", "2", Source.DYNAMIC_DEFAULT_BROKER)


def test_types_are_told_by_kafkas_codes() -> None:
    rows = {row.name: row.kind for row in describe_broker(Layers())}
    assert rows["log.dirs"] == CODES["string"]
    assert rows["num.partitions"] == CODES["int"]
    assert rows["log.cleanup.policy"] == CODES["list"]
    assert rows["log.cleaner.min.cleanable.ratio"] == CODES["double"]
    assert rows["ssl.key.password"] == CODES["password"]
    assert rows["offsets.topic.replication.factor"] == CODES["short"]
