"""Values as JSON: what Confluent's serializers wrote, and what is not as its schema says."""

import io
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from stepdown.pipeline.failures import BadUsage
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.values.options import value_options
from stepdown.pipeline.values.schemas import Schema, ValueDecoding
from stepdown.pipeline.values.values_to_json import ValueDecoder
from support.schema_registry import SchemaRegistry, schema_registry
from support.serialized_values import (
    INLINE_ORDER,
    PERSON,
    avro_serializer,
    context,
    json_serializer,
    protobuf_classes,
    protobuf_files,
    protobuf_serializer,
)

AT = datetime(2026, 11, 25, 8, 30, tzinfo=UTC)
ORDERED = {
    "id": 7,
    "note": "två",
    "price": {"amount": Decimal("19.90"), "currency": "SEK"},
    "raw": b"\x00\xff",
    "weights": [0.5, float("inf")],
    "at": AT,
    "more": {"tip": {"amount": Decimal("1.00"), "currency": "EUR"}},
}
ORDERED_JSON = {
    "id": 7,
    "note": "två",
    "price": {"amount": "19.90", "currency": "SEK"},
    "raw": "AP8=",
    "weights": [0.5, "Infinity"],
    "at": "2026-11-25T08:30:00+00:00",
    "more": {"tip": {"amount": "1.00", "currency": "EUR"}},
}


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with schema_registry() as registry:
        yield registry


def decoder(**options: str) -> ValueDecoder:
    found = value_options(options)
    assert found is not None
    return ValueDecoder(found.read_schemas(PlaceFiles(), ["topic"]))


def of_registry(registry: SchemaRegistry, kind: str) -> ValueDecoder:
    return decoder(valueFormat=kind, valueRegistryUrl=registry.url)


def text(decoder: ValueDecoder, value: bytes) -> Any:
    found, reason = decoder.decode(memoryview(value))
    assert reason is None
    assert found is not None
    return json.loads(found)


def reason(decoder: ValueDecoder, value: bytes) -> str:
    found, reason = decoder.decode(memoryview(value))
    assert found is None
    assert reason is not None
    return reason


def avro(schema: str, value: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), value)
    return out.getvalue()


def of_schema(schema: object) -> ValueDecoder:
    return ValueDecoder(ValueDecoding(format="avro", one=Schema(definition=json.dumps(schema))))


def test_avro_of_a_registry_with_references_and_older_versions(registry: SchemaRegistry) -> None:
    first = json.dumps({"type": "record", "name": "Old", "fields": [{"name": "n", "type": "int"}]})
    old = registry.register("topic-value", first)
    value = avro_serializer(registry)(ORDERED, context("topic"))
    found = of_registry(registry, "avro")
    assert text(found, value) == ORDERED_JSON
    assert text(found, b"\0" + old.to_bytes(4, "big") + avro(first, {"n": -3})) == {"n": -3}
    assert found.decode(None) == (None, None)


def test_avro_with_the_schema_of_a_file(tmp_path: Any) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(INLINE_ORDER)
    value = avro(INLINE_ORDER, ORDERED)
    assert text(decoder(valueFormat="avro", valueSchema=str(path)), value) == ORDERED_JSON
    framed = decoder(valueFormat="avro", valueSchema=path.as_uri(), valueFraming="confluent")
    assert text(framed, b"\0\0\0\0\x05" + value) == ORDERED_JSON


def test_protobuf_of_a_registry(registry: SchemaRegistry) -> None:
    kinds = protobuf_classes()
    event = kinds["shop.Event"](
        price={"cents": 1990},
        lines=[{"text": "två", "weight": 0.5}],
        at={"seconds": int(AT.timestamp())},
        raw=b"\0\xff",
    )
    values = [
        protobuf_serializer(registry, type(message))(message, context("topic"))
        for message in (event, kinds["shop.Event.Line"](text="alone"), kinds["shop.Other"](flag=True))
    ]
    found = of_registry(registry, "protobuf")
    assert [text(found, value) for value in values] == [
        {
            "price": {"cents": "1990", "currency": ""},
            "lines": [{"text": "två", "weight": 0.5}],
            "at": "2026-11-25T08:30:00Z",
            "raw": "AP8=",
        },
        {"text": "alone", "weight": 0.0},
        {"flag": True},
    ]
    head = values[0][:5]
    assert "no message at 9" in reason(found, head + b"\x02\x12")
    assert "a path of -1 message indexes" in reason(found, head + b"\x01")
    assert "end inside a number" in reason(found, head + b"\x02\xff\xff")


def test_protobuf_with_a_descriptor_set(tmp_path: Any) -> None:
    path = tmp_path / "event.desc"
    path.write_bytes(protobuf_files().SerializeToString())
    value = protobuf_classes()["shop.Money"](cents=5, currency="SEK").SerializeToString()
    options = {"valueFormat": "protobuf", "valueSchema": str(path)}
    found = decoder(**options, valueMessage="shop.Money")
    assert text(found, value) == {"cents": "5", "currency": "SEK"}
    assert "DecodeError" in reason(found, value[:-1])
    framed = decoder(**options, valueMessage="shop.Money", valueFraming="confluent")
    assert text(framed, b"\0\0\0\0\x05\0" + value) == {"cents": "5", "currency": "SEK"}
    with pytest.raises(BadUsage, match=r"no such protobuf message or file in the schema: .*shop\.Absent"):
        decoder(**options, valueMessage="shop.Absent")


def test_json_of_a_registry_has_to_be_valid(registry: SchemaRegistry) -> None:
    value = json_serializer(registry)({"name": "Åsa", "age": 3}, context("topic"))
    found = of_registry(registry, "json")
    assert text(found, value) == {"name": "Åsa", "age": 3}
    assert "-1 is less than the minimum of 0" in reason(found, value[:5] + b'{"name": "Bo", "age": -1}')


def test_json_needs_no_schema() -> None:
    found = decoder(valueFormat="json")
    assert found.decode(memoryview(b' {"a": 1.50}')) == (' {"a": 1.50}', None)
    for bad in (b"", b"{", b"\xff", b"NaN", b"[" * 100_000):
        assert reason(found, bad)


def test_references_of_json_schemas_are_looked_up_in_the_registry_alone() -> None:
    whole = json.dumps({"type": "array", "items": {"$ref": "person.json"}})
    schema = Schema(definition=whole, references=(("person.json", PERSON),))
    found = ValueDecoder(ValueDecoding(format="json", one=schema))
    assert text(found, b'[{"name": "Bo"}]') == [{"name": "Bo"}]
    assert "required" in reason(found, b"[{}]")
    with pytest.raises(BadUsage, match=r"no JSON Schema: .*is not present"):
        ValueDecoder(ValueDecoding(format="json", one=Schema(definition='{"$ref": "http://127.0.0.1:9/a"}')))


def test_what_cannot_be_decoded_is_told_and_goes_on(registry: SchemaRegistry) -> None:
    value = avro_serializer(registry)(ORDERED, context("topic"))
    found = of_registry(registry, "avro")
    assert "does not begin with magic byte 0" in reason(found, b"")
    assert "does not begin with magic byte 0" in reason(found, b"\1" + value[1:])
    assert reason(found, b"\0\0\0\0\x63" + value[5:]) == "LookupError: schema id 99 is of none of the subjects"
    assert "1 bytes are left behind the value" in reason(found, value + b"\0")
    for end in range(5, len(value)):
        assert reason(found, value[:end])
    assert text(found, value) == ORDERED_JSON


def test_a_value_may_be_as_deep_as_it_likes() -> None:
    """fastavro's compiled reader ended the process with a segmentation fault."""
    node = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
    found = of_schema(node)
    assert text(found, b"\x02\x02\x00") == {"next": {"next": {"next": None}}}
    assert "RecursionError" in reason(found, b"\x02" * 1_000_000 + b"\x00")


@pytest.mark.parametrize(
    "items",
    ["null", {"type": "record", "name": "R", "fields": [{"name": "n", "type": "null"}]}],
    ids=["null", "record"],
)
def test_an_array_of_items_without_bytes_is_refused(items: object) -> None:
    with pytest.raises(BadUsage, match="a few bytes could say a billion of them"):
        of_schema({"type": "array", "items": items})


def test_a_schema_of_a_registry_that_cannot_be_used_is_told(
    registry: SchemaRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = registry.register("topic-value", '{"type": "nothing"}')
    good = registry.register("topic-value", '"string"')
    found = of_registry(registry, "avro")
    assert f"schema id {bad}: no Avro schema" in capsys.readouterr().err
    assert "no Avro schema" in reason(found, b"\0" + bad.to_bytes(4, "big") + b"\2a")
    assert text(found, b"\0" + good.to_bytes(4, "big") + b"\2a") == "a"


def test_a_registry_that_fails_now_and_then_is_asked_again(registry: SchemaRegistry) -> None:
    registry.register("money", '"string"')
    references = [{"name": "Money", "subject": "money", "version": 1}]
    for number in range(3):
        registry.register(
            "a/b-value", json.dumps({"type": "fixed", "name": f"F{number}", "size": 1}), "AVRO", references
        )
    registry.failing, registry.needs_user = 3, True
    found = value_options({"valueFormat": "avro", "valueRegistryUrl": registry.url_with_user})
    assert found is not None
    assert len(found.read_schemas(PlaceFiles(), ["a/b"]).by_id) == 3
    assert sum("money" in path for path in registry.asked) == 1
    assert "p@ss" not in repr(found)


def test_what_a_registry_lacks_or_refuses_is_named(registry: SchemaRegistry) -> None:
    registry.register("topic-value", b64encode(b"no descriptor").decode(), "PROTOBUF")
    with pytest.raises(BadUsage, match="has no subject other-value; the option valueSubjects names others"):
        decoder(valueFormat="avro", valueRegistryUrl=registry.url, valueSubjects="other-value")
    with pytest.raises(BadUsage, match="its schema is of type PROTOBUF, the option valueFormat says avro"):
        of_registry(registry, "avro")
    registry.needs_user = True
    with pytest.raises(Exception, match="HTTP Error 401: Unauthorized"):
        of_registry(registry, "avro")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"valueSchema": "a"}, "the option valueSchema needs valueFormat"),
        ({"valueFormat": "xml"}, "valueFormat is one of avro, protobuf, json, not 'xml'"),
        ({"valueFormat": "avro"}, "needs a schema"),
        ({"valueFormat": "json", "valueFraming": "long"}, "confluent or none"),
        ({"valueFormat": "avro", "valueSchema": "a", "valueRegistryUrl": "http://a"}, "do not go together"),
        ({"valueFormat": "avro", "valueRegistryUrl": "http://a", "valueFraming": "none"}, "without a schema id"),
        ({"valueFormat": "protobuf", "valueSchema": "a"}, "valueMessage goes with"),
        ({"valueFormat": "avro", "valueSchema": "a", "valueSubjects": "b"}, "valueSubjects needs valueRegistryUrl"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(BadUsage, match=said):
        value_options(options)


@pytest.mark.parametrize("topics", [None, []])
def test_without_topics_the_subjects_have_to_be_named(topics: list[str] | None) -> None:
    found = value_options({"valueFormat": "avro", "valueRegistryUrl": "http://127.0.0.1:9"})
    assert found is not None
    with pytest.raises(BadUsage, match="Name topics by subscribe, or subjects by valueSubjects"):
        found.read_schemas(PlaceFiles(), topics)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: decoder(valueFormat="avro", valueSchema=f"{folder}/a"), "no such schema file"),
        (lambda _: decoder(valueFormat="avro", valueRegistryUrl="ftp://a"), "begins with http"),
        (lambda _: ValueDecoder(ValueDecoding(format="json", one=Schema(definition="{"))), "no JSON Schema"),
        (
            lambda _: ValueDecoder(ValueDecoding(format="protobuf", message="A", one=Schema(definition="AAAA"))),
            "no protobuf descriptor",
        ),
    ],
)
def test_schemas_that_cannot_be_had_are_bad_usage(make: Callable[[Any], object], said: str, tmp_path: Any) -> None:
    with pytest.raises(BadUsage, match=said):
        make(tmp_path)


@pytest.mark.parametrize(("kind", "said"), [("avro", "no Avro schema"), ("json", "no JSON Schema")])
def test_a_schema_file_that_cannot_be_used_is_named(kind: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "order.schema"
    file.write_text('{"type": "recrd"')
    with pytest.raises(BadUsage, match=f"^{file}: {said}"):
        decoder(valueFormat=kind, valueSchema=str(file))
