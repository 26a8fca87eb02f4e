"""Kafka's own message classes (kafka-clients 3.9.1) read what we write, write it again, refuse what we refuse."""

import json
import struct
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.field_declarations import Field
from stepdown.protocol.primitives import Primitive
from stepdown.protocol.schema import decode, encode, schema_of
from support.java_oracle import JavaError, JavaOracle
from support.messages import message_id, messages, values

pytestmark = pytest.mark.java

# Versions that came with Kafka 4.0; kio knows them.
FIRST_UNKNOWN = {ApiKey.CONSUMER_GROUP_HEARTBEAT: 1, ApiKey.CONSUMER_GROUP_DESCRIBE: 1}
EVERY_MESSAGE = [(cls, version) for spec, cls, version in messages() if version < FIRST_UNKNOWN.get(spec.key, 99)]
EVERY_CLASS = [cls for spec in API.values() for cls in (spec.request, spec.response)]


@pytest.fixture(scope="module")
def kafka(java_oracle) -> JavaOracle:
    return java_oracle("messages")


def named(cls: type, *versions: int) -> bytes:
    name = cls.__name__.encode()
    return struct.pack(">h", len(name)) + name + struct.pack(f">{len(versions)}h", *versions)


@pytest.mark.parametrize(("cls", "version"), EVERY_MESSAGE, ids=message_id)
def test_kafka_reads_the_same_values_and_writes_the_same_bytes(cls, version, kafka):
    @settings(max_examples=4, database=None)
    @given(value=values(cls, version))
    def check(value: Any) -> None:
        wire = b"".join(encode(value, version))
        answer = kafka.call("MessageEcho.echo", named(cls, version) + wire)
        read_bytes, size = struct.unpack_from(">ii", answer)
        assert read_bytes == len(wire)
        assert answer[8 : 8 + size] == wire
        assert json.loads(answer[8 + size :]) == as_json(value, version)
        assert decode(cls, version, memoryview(wire)) == value

    check()


@pytest.mark.parametrize("cls", EVERY_CLASS, ids=message_id)
def test_defaults_are_those_of_kafka(cls, kafka):
    for version in (version for known, version in EVERY_MESSAGE if known is cls):
        assert b"".join(encode(cls(), version)) == kafka.call("MessageEcho.untouched", named(cls, version))


@pytest.mark.parametrize("cls", EVERY_CLASS, ids=message_id)
def test_what_kafka_refuses_to_write_in_an_older_version_is_refused_here(cls, kafka):
    newest = max(version for known, version in EVERY_MESSAGE if known is cls)

    @settings(max_examples=15, database=None)
    @given(value=values(cls, newest), older=st.integers(0, newest))
    def check(value: Any, older: int) -> None:
        wire = b"".join(encode(value, newest))
        try:
            theirs = kafka.call("MessageEcho.rewrite", named(cls, newest, older) + wire)
        except JavaError:
            with pytest.raises(ValueError, match=cls.__name__):
                encode(value, older)
        else:
            assert b"".join(encode(value, older)) == theirs

    check()


def as_json(value: Any, version: int) -> dict[str, Any]:
    """The value as Kafka's JSON converters show it: tagged fields only where set, record sets by their size.

    A token of SASL is read where it stands, as records are here; for Kafka it is bytes.
    """
    shown = {}
    for field in schema_of(type(value)).fields:
        content = getattr(value, field.name)
        if version not in field.versions or (field.tag is not None and content == field.default):
            continue
        name = camel_case(field.name)
        if field.kind is Primitive.RECORDS and field.name == "records" and content is not None:
            shown[f"{name}SizeInBytes"] = len(content)
        else:
            shown[name] = json_of(field, content, version)
    return shown


def json_of(field: Field, content: Any, version: int) -> Any:
    if content is None:
        return None
    if field.kind is Primitive.ARRAY:
        return [json_of_item(field, item, version) for item in content]
    return json_of_item(field, content, version)


def json_of_item(field: Field, content: Any, version: int) -> Any:
    if field.element is not None:
        return as_json(content, version)
    match field.item or field.kind:
        case Primitive.UUID:
            return urlsafe_b64encode(content.bytes).rstrip(b"=").decode()
        case Primitive.BYTES | Primitive.RECORDS:
            return b64encode(content).decode()
    return content


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
