"""The table against Kafka's own: tests/vectors/config/kafka-3.9.1-settings.tsv was printed by its classes."""

import re
from collections.abc import Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from stepdown.config.keys.key import Key, Status
from stepdown.config.keys.value_types import parse, render
from stepdown.config.settings import BrokerSettings, TopicSettings
from stepdown.config.tables.all_keys import BROKER_KEYS, PENDING, TOPIC_KEYS
from stepdown.config.tables.security import LISTENERS

ROOT = Path(__file__).parents[4]
VECTORS = Path(__file__).parents[3] / "vectors" / "config" / "kafka-3.9.1-settings.tsv"

NOT_KAFKA_CONFIGS = {"super.users", "allow.everyone.if.no.acl.found"}
"""Kafka reads these in its authorizer, not in its table."""

STRICTER = {
    "broker.id",
    "node.id",
    "default.replication.factor",
    "socket.send.buffer.bytes",
    "socket.receive.buffer.bytes",
    "log.retention.ms",
    "log.retention.minutes",
    "log.retention.hours",
    "log.roll.ms",
    "log.roll.jitter.ms",
    "offsets.topic.compression.codec",
    "log.local.retention.ms",
    "log.local.retention.bytes",
    "remote.storage.enable",
    "remote.log.copy.disable",
    "remote.log.delete.on.disable",
    "local.retention.ms",
    "local.retention.bytes",
}
"""Ranges that Kafka checks elsewhere or leaves open, and settings of which only the default is supported."""


class KafkaRow(NamedTuple):
    scope: str
    name: str
    kind: str
    default: str
    validator: str
    importance: str
    mode: str
    internal: str


def kafka_rows(scope: str) -> list[KafkaRow]:
    lines = VECTORS.read_text().splitlines()
    rows = [KafkaRow(*[*line.split("\t"), ""][:8]) for line in lines if not line.startswith("#")]
    return [row for row in rows if row.scope == scope]


def table(scope: str) -> dict[str, Key]:
    return dict(BROKER_KEYS if scope == "broker" else TOPIC_KEYS)


ALL_ROWS = kafka_rows("broker") + kafka_rows("topic")


def each_of(rows: Iterable[KafkaRow]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.scope}:{row.name}") for row in rows])


def test_every_key_of_kafka_is_known_and_nothing_else_but_our_own() -> None:
    known = {name for name in BROKER_KEYS if not name.startswith("stepdown.")} - NOT_KAFKA_CONFIGS
    assert known == {row.name for row in kafka_rows("broker")}
    topic_keys = {name for name in TOPIC_KEYS if not name.startswith("stepdown.")}
    assert topic_keys == {row.name for row in kafka_rows("topic")}


@each_of(ALL_ROWS)
def test_type_and_default_are_kafkas(row: KafkaRow) -> None:
    key = table(row.scope)[row.name]
    assert key.kind.name == row.kind
    assert key.default == (None if row.default == "<null>" else parse(key.kind, row.default))


@each_of(ALL_ROWS)
def test_what_may_change_at_run_time_is_what_kafka_lets_change(row: KafkaRow) -> None:
    key = table(row.scope)[row.name]
    if row.scope == "topic":
        synonyms = [] if row.mode == "none" else row.mode.strip("[]").split(", ")
        assert list(key.synonyms) == synonyms
    else:
        assert key.change.value == {"no": "read-only"}.get(row.mode, row.mode)


@each_of(row for row in ALL_ROWS if row.name not in STRICTER)
def test_the_range_is_kafkas(row: KafkaRow) -> None:
    key = table(row.scope)[row.name]
    bounds = re.fullmatch(r"\[([-\d.]+),\.\.\.(?:,([-\d.]+))?\](?: or (-1))?", row.validator)
    words = re.fullmatch(r"(?:\(case insensitive\) )?\[([\w, ]+)\]", row.validator)
    if bounds is not None:
        high, extra = (None if text is None else float(text) for text in bounds.groups()[1:])
        low = float(bounds[1])
        assert accepts(key, low) and not (accepts(key, low - 1) and low - 1 != extra)
        assert high is None or (accepts(key, high) and not accepts(key, high + 1))
        assert extra is None or accepts(key, extra)
    elif words is not None:
        for word in words[1].split(", "):
            key.value_of(word)
        with pytest.raises(ValueError, match="out of range"):
            key.value_of("something-else")
    elif row.validator == "null":
        assert key.check is None


def accepts(key: Key, number: float) -> bool:
    try:
        key.value_of(str(int(number)) if number == int(number) else str(number))
    except ValueError:
        return False
    return True


@each_of(kafka_rows("broker"))
def test_what_kafka_hides_is_hidden(row: KafkaRow) -> None:
    assert BROKER_KEYS[row.name].internal == (row.internal == "internal")


def test_every_key_has_a_doc_in_whole_sentences() -> None:
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        assert key.doc[0].isupper() or key.doc.startswith(("segment.bytes of", "min.insync.replicas of")), key.name
        assert key.doc.endswith("."), key.name


def test_every_default_is_in_its_own_range() -> None:
    for key in (*BROKER_KEYS.values(), *TOPIC_KEYS.values()):
        if key.default is not None:
            assert key.value_of(render(key.default) or "") == key.default, key.name


def test_every_field_of_the_settings_is_a_key_and_every_key_with_an_attribute_a_field() -> None:
    of_listeners = {"listener_security", "listener_max_connections", "listener_max_connection_creation_rate"}
    joined = {"listeners", "advertised_listeners", "log_dirs", "broker_id", *of_listeners}
    attributes = {key.attribute for key in BROKER_KEYS.values() if key.attribute}
    assert {field.name for field in fields(BrokerSettings)} == attributes | joined
    assert {field.name for field in fields(TopicSettings)} == {key.attribute for key in TOPIC_KEYS.values()}


def test_a_broker_key_acted_on_has_an_attribute_or_gives_a_default_or_is_part_of_another() -> None:
    defaults = {name for key in TOPIC_KEYS.values() for name in key.synonyms}
    parts = {
        "log.dir",
        "node.id",
        "listener.security.protocol.map",
        "controller.listener.names",
        "stepdown.oauthbearer.any.audience",
        "stepdown.oauthbearer.unsecured",
    }
    parts |= {key.name for key in LISTENERS}
    parts |= {
        f"group.consumer.{end}.{what}.ms"
        for end in ("min", "max")
        for what in ("session.timeout", "heartbeat.interval")
    }
    for key in BROKER_KEYS.values():
        if key.status is Status.ACTED_ON:
            assert key.attribute or key.name in defaults | parts


def readers_of(attribute: str) -> list[str]:
    """The files of the product that read a setting."""
    reads = re.compile(rf"\.{attribute}\b")
    return [path for path, text in product_sources().items() if reads.search(text)]


@cache
def product_sources() -> dict[str, str]:
    paths = (path for room in ("broker", "storage", "cli") for path in (ROOT / room).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def test_every_setting_that_is_said_to_be_acted_on_is_read_somewhere() -> None:
    """If this fails, nobody reads a setting any more: take care of it, or put it among PENDING of all_keys.py."""
    acted_on = [key for key in BROKER_KEYS.values() if key.status is Status.ACTED_ON and key.attribute]
    assert [key.name for key in acted_on if not readers_of(key.attribute)] == []


def test_every_setting_that_is_pending_is_read_nowhere() -> None:
    """If this fails, a setting has come into use: take it out of PENDING of all_keys.py, write the docs again."""
    pending = [BROKER_KEYS[name] for name in sorted(PENDING) if name in BROKER_KEYS and BROKER_KEYS[name].attribute]
    assert {key.name: readers for key in pending if (readers := readers_of(key.attribute))} == {}


def test_a_pending_setting_says_so() -> None:
    for name in PENDING:
        key = BROKER_KEYS.get(name) or TOPIC_KEYS[name]
        assert key.status is Status.ACCEPTED
