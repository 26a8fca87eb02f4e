"""Record batches of every magic and codec: what is written is read, and two ways of converting agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepdown.protocol.errors import PeerFault
from stepdown.protocol.records import kernel
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.conversion.up import convert_up
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record, decode_records
from support import reference_conversion
from support.twin import load_twin

payloads = st.none() | st.binary(max_size=40) | st.integers(100, 70_000).map(bytes)
timestamps = st.just(-1) | st.integers(0, 2**45) | st.integers(0, 2**63 - 1)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3).map(tuple)


@st.composite
def record_lists(draw, *, with_headers):
    offset = draw(st.sampled_from((0, 7, 2**40, 2**62)))
    records = []
    for _ in range(draw(st.integers(1, 8))):
        records.append(
            Record(
                offset=offset,
                timestamp=draw(timestamps),
                key=draw(payloads),
                value=draw(payloads),
                headers=draw(headers) if with_headers else (),
            )
        )
        offset += draw(st.sampled_from((1, 1, 1, 2, 1000)))
    return records


@st.composite
def formats(draw):
    magic = draw(st.sampled_from((0, 1, 2, 2)))
    codec = draw(st.sampled_from([codec for codec in Codec if codec is not Codec.ZSTD or magic == 2]))
    return magic, codec


@st.composite
def batches(draw):
    """A batch or message set; now and then a transaction marker, or one that compaction emptied."""
    magic, codec = draw(formats())
    if magic == 2 and draw(st.integers(0, 9)) == 0:
        return build_control_marker(
            ControlType.ABORT, offset=3, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=1
        )
    if magic == 2 and draw(st.integers(0, 9)) == 0:
        return build_batch([], base_offset=3, last_offset=5)
    append_time = draw(st.none() | st.integers(-1, 2**41))
    return build_batch(
        draw(record_lists(with_headers=magic == 2)),
        magic=magic,
        codec=codec,
        timestamp_type=TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME,
        log_append_time=append_time,
    )


def opened(data):
    """The batches with what they hold; plain ones as their bytes. Compressed bytes may be cut differently."""
    return [
        (batch.magic, batch.codec, batch.last_offset, batch.max_timestamp, batch.attributes, *batch.records())
        if batch.is_compressed
        else bytes(batch.data)
        for batch in iter_batches(data)
    ]


@given(formats(), st.data())
def test_records_read_as_they_were_built(form, data):
    magic, codec = form
    records = data.draw(record_lists(with_headers=magic == 2))
    built = build_batch(records, magic=magic, codec=codec)
    found = []
    for batch in iter_batches(built):
        batch.ensure_valid()
        found.extend(batch.records())
    assert [(r.offset, r.key, r.value, r.headers) for r in found] == [
        (r.offset, r.key, r.value, r.headers) for r in records
    ]
    assert [r.timestamp for r in found] == [r.timestamp if magic else -1 for r in records]


@given(
    st.lists(batches(), max_size=4),
    st.sampled_from((0, 1)),
    st.sampled_from((0, 4, 8, 2**40 + 1)),
    st.sampled_from((None, Codec.NONE, Codec.LZ4)),
)
def test_the_kernel_converts_as_the_reference_does(parts, target, first_offset, zstd_to):
    source = b"".join(parts)
    arguments = {"target": target, "first_offset": first_offset, "zstd_to": zstd_to}
    try:
        expected, records = reference_conversion.convert_down(source, **arguments)
    except PeerFault as fault:
        with pytest.raises(type(fault)):
            convert_down(source, out=bytearray(1000), **arguments)
        return
    converted = convert_down(source, out=bytearray(1000), **arguments)
    assert (opened(converted.data), converted.records) == (opened(expected), records)
    assert (converted.source_bytes, converted.size_bytes) == (len(source), len(converted.data))
    for batch in iter_batches(converted.data):
        batch.ensure_valid()


@given(st.lists(batches(), max_size=4), st.sampled_from((0, 1)), st.sampled_from((0, 4, 8)))
def test_chunks_one_after_the_other_make_the_whole(parts, target, first_offset):
    source = b"".join(parts)
    arguments = {"target": target, "first_offset": first_offset, "zstd_to": Codec.GZIP}
    joined, at = b"", 0
    while (chunk := kernel.plan_chunk(memoryview(source)[at:], target, 500))[0]:
        size, batch_count, needs_codec, bound = chunk
        converted = convert_down(source[at : at + size], out=bytearray(bound), **arguments)
        assert (converted.source_bytes, converted.batches) == (size, batch_count)
        assert needs_codec or converted.size_bytes <= bound
        joined += converted.data
        at += size
    assert joined == convert_down(source, out=bytearray(), **arguments).data


@given(record_lists(with_headers=False), st.sampled_from((0, 1)), st.sampled_from([*Codec][:4]))
def test_messages_go_up_with_nothing_lost(records, magic, codec):
    body = bytearray()
    told = convert_up(list(iter_batches(build_batch(records, magic=magic, codec=codec))), body.extend)
    found = decode_records(
        [body], told.record_count, base_offset=0, base_timestamp=told.base_timestamp, append_time=None
    )
    assert [(r.offset, r.timestamp, r.key, r.value) for r in found] == [
        (n, r.timestamp if magic else -1, r.key, r.value) for n, r in enumerate(records)
    ]


# compiled and uncompiled

small = st.binary(max_size=40)


@pytest.fixture(scope="module")
def twin():
    return load_twin()


def outcome(call):
    """What a call returns, or the fault it raises."""
    try:
        return call()
    except PeerFault as fault:
        return type(fault), str(fault)


@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_both_kernels_make_the_same_checksums(twin, data, start):
    assert kernel.crc32(data, start) == twin.crc32(data, start)
    assert kernel.crc32c(data, start) == twin.crc32c(data, start)
    assert kernel.xxh32(data) == twin.xxh32(data)


@given(st.lists(batches(), max_size=3), st.data())
def test_both_kernels_convert_alike_damaged_or_not(twin, parts, data):
    source = bytearray(b"".join(part for part in parts if len(part) < 3000))
    for _ in range(data.draw(st.integers(0, 2)) if source else 0):
        source[data.draw(st.integers(0, len(source) - 1))] = data.draw(st.integers(0, 255))
    arguments = (0, data.draw(st.sampled_from((0, 1))), data.draw(st.sampled_from((0, 8))))
    room = data.draw(st.sampled_from((0, 200, 10_000)))
    buffers = bytearray(room), bytearray(room)
    assert outcome(lambda: kernel.convert_plain(source, *arguments, buffers[0])) == outcome(
        lambda: twin.convert_plain(source, *arguments, buffers[1])
    )
    assert buffers[0] == buffers[1]
    assert outcome(lambda: kernel.convert_plain(source, *arguments, None)) == outcome(
        lambda: twin.convert_plain(source, *arguments, None)
    )
    assert outcome(lambda: kernel.plan_chunk(source, arguments[1], 500)) == outcome(
        lambda: twin.plan_chunk(source, arguments[1], 500)
    )


STREAMS = {
    "records down": ("RecordsDown", (1, 3, 2**62, -5, None, True, 0), 2),
    "records down to v0": ("RecordsDown", (0, 3, 2**63 - 2, 9, None, False, 4), 2),
    "records down, append time": ("RecordsDown", (1, 2, 7, 0, 77, True, 0), 2),
    "record survey": ("RecordSurvey", (3, 2**63 - 1, None), 2),
    "messages down": ("MessagesDown", (2**63 - 3, True), 1),
    "message walk": ("MessagesDown", (0, False), 1),
    "messages up": ("MessagesUp", (1, False, None), 1),
    "messages up, checked": ("MessagesUp", (0, True, 5), 0),
}


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
def test_both_kernels_take_a_stream_alike_damaged_or_not(twin, name, data):
    loop, arguments, magic = STREAMS[name]
    records = [
        Record(
            offset=n,
            timestamp=data.draw(timestamps),
            key=data.draw(st.none() | small),
            value=data.draw(st.none() | small),
        )
        for n in range(3)
    ]
    source = bytearray(build_batch(records, magic=magic)[61 if magic == 2 else 0 :])
    for _ in range(data.draw(st.integers(0, 2))):
        source[data.draw(st.integers(0, len(source) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(source)))
    room = data.draw(st.sampled_from((0, 100, 1000)))
    both = getattr(kernel, loop)(*arguments), getattr(twin, loop)(*arguments)
    buffers = bytearray(room), bytearray(room)
    for part in source[:cut], source:
        answers = [
            outcome(lambda one=one, out=out, part=part: one.feed(part, 0, out))
            for one, out in zip(both, buffers, strict=True)
        ]
        assert answers[0] == answers[1]
        assert buffers[0] == buffers[1]
    summarize = "check_and_summarize" if magic == 2 else "summary"
    assert outcome(getattr(both[0], summarize)) == outcome(getattr(both[1], summarize))


@given(st.binary(min_size=50, max_size=50), st.data())
def test_both_kernels_wrap_alike(twin, content, data):
    attributes, timestamp = data.draw(st.sampled_from((3, 11))), data.draw(timestamps)
    arguments = (3, data.draw(st.integers(20, 60)), data.draw(st.sampled_from((0, 1))), attributes, timestamp, -1)
    buffers = bytearray(content), bytearray(content)
    results = []
    for each, out in zip((kernel, twin), buffers, strict=True):
        try:
            results.append(each.write_wrapper_head(out, *arguments))
        except ValueError as error:
            results.append(str(error))
    assert results[0] == results[1]
    assert buffers[0] == buffers[1]
