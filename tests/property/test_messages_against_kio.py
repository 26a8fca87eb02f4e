"""The schemas of kio, generated from Kafka's message definitions, read and write what we do, field by field.

kio knows Kafka 4: the versions that Kafka 4 has dropped are held against Kafka's own classes instead.
"""

from dataclasses import fields
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from stepdown.protocol.api import ApiSpec
from stepdown.protocol.primitives import NO_UUID
from stepdown.protocol.schema import decode, encode, schema_of
from support.messages import message_id, messages, values


def kio_class(spec: ApiSpec, cls: type, version: int) -> Any | None:
    load = load_request_schema if cls is spec.request else load_response_schema
    try:
        return load(spec.key, version)
    except (UnknownAPIKey, UnknownEntity):
        return None


SHARED = [
    (cls, version, theirs) for spec, cls, version in messages() if (theirs := kio_class(spec, cls, version)) is not None
]


def test_kio_knows_most_messages():
    assert len(SHARED) > 400


@pytest.mark.parametrize(("cls", "version", "theirs"), SHARED, ids=message_id)
@settings(max_examples=5)
@given(data=st.data())
def test_kio_reads_what_we_write_and_writes_the_same(cls, version, theirs, data):
    value = data.draw(values(cls, version, plain=True))
    wire = b"".join(encode(value, version))

    parsed, size = entity_reader(theirs)(wire, 0)
    assert size == len(wire)
    assert_same_fields(parsed, value, version)

    written = BytesIO()
    entity_writer(theirs)(written, parsed)
    assert written.getvalue() == wire
    assert decode(cls, version, memoryview(written.getvalue())) == value


def assert_same_fields(theirs: Any, ours: Any, version: int) -> None:
    names = [field.name for field in schema_of(type(ours)).fields if version in field.versions]
    known = [field.name for field in fields(theirs)]
    assert len(known) == len(names)
    for their_name, our_name in zip(known, names, strict=True):
        assert shared_name(our_name) == shared_name(their_name)
        assert_same(getattr(theirs, their_name), getattr(ours, our_name), version)


def shared_name(name: str) -> str:
    """kio leaves the unit out of a name, and knows what Kafka 4 renamed."""
    return {"config_resources": "client_metrics_resources", "resource_name": "name"}.get(name, name).replace("_ms", "")


def assert_same(theirs: Any, ours: Any, version: int) -> None:
    match theirs:
        case tuple():
            assert len(theirs) == len(ours)
            for their_item, our_item in zip(theirs, ours, strict=True):
                assert_same(their_item, our_item, version)
        case timedelta():
            assert theirs == timedelta(milliseconds=ours)
        case datetime():
            assert round(theirs.timestamp() * 1000) == ours
        case None:
            assert ours in (None, NO_UUID, -1)
        case _ if hasattr(ours, "__schema__"):
            assert_same_fields(theirs, ours, version)
        case _:
            assert theirs == ours
