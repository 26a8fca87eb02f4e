"""Whatever bytes arrive, reading them gives a value or MalformedFrame, in memory bounded by how many they are."""

import tracemalloc
from contextlib import suppress
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.decoder_generator import least_encoded_size
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.frame import FrameParser, decode_request_header, encode_request
from stepdown.protocol.primitives import MAX_ITEMS, MAX_TAGGED_FIELDS, Primitive, write_uvarint
from stepdown.protocol.schema import decode, decoder_of, encode, schema_of
from support.messages import message_id, messages, values

# An item of two bytes, a tagged or empty struct, may become an object of so many; most take less.
MEMORY_PER_BYTE = 200
MEMORY_FLOOR = 64 * 1024

PLAIN = {
    Primitive.STRING: "text",
    Primitive.BYTES: b"bytes",
    Primitive.RECORDS: b"records",
    Primitive.UUID: UUID(int=9),
    Primitive.FLOAT64: 1.5,
}

edits = st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]) | st.integers(0, 255)))


def mutated(wire: bytes, changes: list[tuple[int, int]], kept: int) -> memoryview:
    data = bytearray(wire)
    for place, byte in changes:
        if data:
            data[place % len(data)] = byte
    return memoryview(bytes(data))[: len(data) - kept % (len(data) + 1)]


@pytest.mark.parametrize("spec", API.values(), ids=lambda spec: spec.name)
@settings(max_examples=40)
@given(data=st.data())
def test_a_mutated_or_cut_message_is_read_or_refused(spec, data):
    cls = data.draw(st.sampled_from([spec.request, spec.response]))
    version = data.draw(st.integers(spec.min_version, spec.max_version))
    wire = b"".join(encode(data.draw(values(cls, version)), version))
    hostile = mutated(wire, data.draw(edits), data.draw(st.integers(0, 10_000) | st.just(0)))
    with suppress(MalformedFrame):
        decode(cls, version, hostile)


@settings(max_examples=300)
@given(frame=st.binary(max_size=60), key=st.sampled_from(list(API)), version=st.integers(-1, 20))
def test_any_bytes_behind_a_key_and_version_are_read_or_refused(frame, key, version):
    start = int(key).to_bytes(2, "big") + version.to_bytes(2, "big", signed=True)
    with suppress(MalformedFrame):
        header, body = decode_request_header(memoryview(start + frame))
        decode(API[header.api_key].request, header.api_version, body)


@pytest.mark.parametrize(("cls", "version"), [case[1:] for case in messages()], ids=message_id)
def test_every_proper_prefix_of_a_message_is_refused(cls, version):
    wire = memoryview(b"".join(encode(filled(cls, version), version)))
    for size in range(len(wire)):
        with pytest.raises(MalformedFrame):
            decode(cls, version, wire[:size])


@pytest.mark.parametrize(("cls", "version"), [case[1:] for case in messages()], ids=message_id)
def test_a_length_far_beyond_the_end_is_refused_wherever_it_stands(cls, version):
    wire = b"".join(encode(filled(cls, version), version))
    for start in range(len(wire)):
        for size in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f"):
            hostile = memoryview(wire[:start] + size + wire[start + len(size) :])
            with suppress(MalformedFrame):
                decode(cls, version, hostile)


@pytest.mark.parametrize("spec", API.values(), ids=lambda spec: spec.name)
def test_memory_is_bounded_by_the_bytes_received(spec):
    body = memoryview(bytes([1, 2, 1, 1]) * 25_000)
    zeros = memoryview(bytes(100_000))
    tracemalloc.start()
    try:
        for version in range(spec.min_version, spec.max_version + 1):
            for data in (body, zeros):
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                with suppress(MalformedFrame):
                    decode(spec.request, version, data)
                peak = tracemalloc.get_traced_memory()[1] - before
                assert peak < MEMORY_PER_BYTE * len(data) + MEMORY_FLOOR
    finally:
        tracemalloc.stop()


def test_tagged_fields_are_limited_in_structs_that_know_some_and_in_others():
    for key, version in ((ApiKey.FETCH, 15), (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0)):
        whole = bytes(b"".join(bytes(piece) for piece in encode(API[key].request(), version)))
        assert whole.endswith(b"\x00")
        tagged = write_uvarint(MAX_TAGGED_FIELDS + 1) + b"".join(
            write_uvarint(1000 + tag) + b"\x00" for tag in range(MAX_TAGGED_FIELDS + 1)
        )
        with pytest.raises(MalformedFrame, match="tagged fields"):
            decode(API[key].request, version, memoryview(whole[:-1] + tagged))


def test_a_reader_may_ask_for_fewer_items():
    read = decoder_of(API[ApiKey.DESCRIBE_TOPIC_PARTITIONS].request, 0)
    frame = memoryview(write_uvarint(12) + b"\x01\x00" * 11)
    with pytest.raises(MalformedFrame, match="more than 10 items in one message"):
        read(frame, 10)


def test_a_message_of_very_many_small_items_is_refused():
    count = write_uvarint(MAX_ITEMS + 2)
    frame = memoryview(count + b"\x01\x00" * (MAX_ITEMS + 1))
    with pytest.raises(MalformedFrame, match=f"{MAX_ITEMS} items in one message"):
        decode(API[ApiKey.DESCRIBE_TOPIC_PARTITIONS].request, 0, frame)


@pytest.mark.parametrize(("cls", "version"), [case[1:] for case in messages()], ids=message_id)
def test_no_item_of_an_array_takes_no_bytes(cls, version):
    is_flexible = version in schema_of(cls).flexible
    for element in elements(cls, version):
        assert least_encoded_size(element, version, is_flexible) > 0


@settings(max_examples=200)
@given(chunks=st.lists(st.binary(max_size=40), max_size=20), most=st.integers(0, 100))
def test_a_parser_holds_no_more_than_it_was_fed(chunks, most):
    parser = FrameParser(most)
    fed = taken = 0
    with suppress(MalformedFrame):
        for chunk in chunks:
            parser.feed(chunk)
            fed += len(chunk)
            while (frame := parser.next_frame()) is not None:
                taken += 4 + len(frame)
            assert parser.buffered_bytes == fed - taken


@settings(max_examples=200)
@given(cuts=st.lists(st.integers(0, 200), max_size=8), sizes=st.lists(st.integers(0, 60), max_size=6))
def test_frames_come_out_whole_however_the_bytes_are_cut(cuts, sizes):
    frames = [bytes([number]) * size for number, size in enumerate(sizes)]
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    parser, found = FrameParser(100), []
    for start, end in pairwise(places):
        parser.feed(stream[start:end])
        while (frame := parser.next_frame()) is not None:
            found.append(bytes(frame))
    assert found == frames
    assert parser.buffered_bytes == 0


@pytest.mark.parametrize("spec", API.values(), ids=lambda spec: spec.name)
def test_a_request_is_read_back_from_its_frame(spec):
    for version in range(spec.min_version, spec.max_version + 1):
        value = filled(spec.request, version)
        parser = FrameParser(10_000)
        parser.feed(b"".join(encode_request(spec, version, 7, "me", value)))
        header, body = decode_request_header(parser.next_frame())
        assert (header.api_key, header.api_version, header.correlation_id) == (spec.key, version, 7)
        assert decode(spec.request, version, body) == value


def filled(cls, version):
    """A message in which every array has one item and every field that may be set is."""
    content = {
        field.name: fill(field, version)
        for field in schema_of(cls).fields
        if version in field.versions and (field.kind is not Primitive.BOOLEAN)
    }
    return cls(**content)


def fill(field, version):
    item = filled(field.element, version) if field.element else PLAIN.get(field.item or field.kind, 7)
    return (item,) if field.kind is Primitive.ARRAY else item


def elements(cls, version):
    for field in schema_of(cls).fields:
        if field.element is not None and version in field.versions:
            yield field.element
            yield from elements(field.element, version)
