"""Record formats and their conversion against the record classes of Kafka 3.9.1, byte for byte where it can be.

Compressed bytes depend on the codec library, so those are compared opened, and read by Kafka.
"""

from random import Random

import pytest
from stepdown.protocol.errors import InvalidRecord, UnsupportedCompression
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.compression.codecs import decompress
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record
from support.java_oracle import JavaError
from support.kafka_records import KafkaRecords

pytestmark = pytest.mark.java

FORMATS = [(magic, codec) for magic in (0, 1, 2) for codec in Codec if magic == 2 or codec is not Codec.ZSTD]
APPEND = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": 777}
LARGEST = {"partition_leader_epoch": 2**31 - 1, "producer_id": 2**62, "producer_epoch": 7, "base_sequence": 2**31 - 1}


@pytest.fixture(scope="module")
def kafka(java_oracle):
    return KafkaRecords(java_oracle("records"))


def records(seed=1, *, count=12, headers=False, first=100):
    """Records of many shapes with gaps between their offsets."""
    random = Random(seed)
    offset, found = first, []
    for _ in range(count):
        sizes = random.choice((None, 0, 1, 62, 63, 64, 200)), random.choice((None, 0, 5, 8191, 8192, 40_000))
        key, value = (None if size is None else random.randbytes(size) for size in sizes)
        found.append(
            Record(
                offset=offset,
                timestamp=random.choice((-1, 0, 5000, 1_700_000_000_000 + random.randrange(10**6))),
                key=key,
                value=value,
                headers=(("h", b"v"), ("", None), ("é", b"")) if headers and random.random() < 0.5 else (),
            )
        )
        offset += random.choice((1, 1, 1, 2, 70_000))
    return found


def opened(data):
    """Each batch with its compressed part opened in place."""
    found = []
    for batch in iter_batches(data):
        batch.ensure_valid()
        packed = memoryview(b"")
        if batch.is_compressed:
            packed = batch.body if batch.magic == 2 else batch.key_and_value()[1]
        head = bytes(batch.data[: len(batch.data) - len(packed)])
        body = bytes(decompress(batch.codec, packed, magic=batch.magic, max_bytes=1 << 30))
        # Size and checksum cover compressed bytes; so does a wrapper's value length.
        cut = {0: (8, 16, 22), 1: (8, 16, 30), 2: (8, 12, 17)}[batch.magic] if batch.is_compressed else None
        found.append((head if cut is None else head[: cut[0]] + head[cut[1] : cut[2]], body))
    return found


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
@pytest.mark.parametrize("options", [{}, APPEND], ids=["create time", "append time"])
def test_the_builder_makes_kafka_s_bytes(kafka, magic, codec, options):
    for seed in range(5):
        source = records(seed, headers=magic == 2)
        ours = build_batch(source, magic=magic, codec=codec, **options)
        theirs = kafka.build(source, magic=magic, codec=codec, **options)
        assert opened(ours) == opened(theirs)
        if codec is Codec.NONE:
            assert ours == theirs


def test_the_builder_writes_producer_state_and_delete_horizon_as_kafka_does(kafka):
    source = records(headers=True)
    for options in (LARGEST, LARGEST | {"transactional": True}, {"delete_horizon_ms": 12345}, {"base_offset": 3}):
        assert build_batch(source, **options) == kafka.build(source, **options)


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
@pytest.mark.parametrize("options", [{}, APPEND], ids=["create time", "append time"])
def test_kafka_reads_what_we_write_as_we_read_it(kafka, magic, codec, options):
    data = build_batch(records(headers=magic == 2), magic=magic, codec=codec, **options)
    for ours, theirs in zip(iter_batches(data), kafka.read(data), strict=True):
        assert (ours.magic, ours.codec, ours.timestamp_type) == (theirs.magic, theirs.codec, theirs.timestamp_type)
        assert (ours.base_offset, ours.last_offset) == (theirs.base_offset, theirs.last_offset)
        assert ours.max_timestamp == theirs.max_timestamp
        assert tuple(ours.records()) == theirs.records


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_we_read_what_kafka_writes(kafka, magic, codec):
    source = records(headers=magic == 2)
    data = kafka.build(source, magic=magic, codec=codec)
    found = [record for batch in iter_batches(data) for record in batch.records()]
    assert [(r.offset, r.key, r.value, r.headers) for r in found] == [
        (r.offset, r.key, r.value, r.headers) for r in source
    ]


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize(("magic", "codec"), [form for form in FORMATS if form[1] is not Codec.ZSTD])
@pytest.mark.parametrize("options", [{}, APPEND], ids=["create time", "append time"])
def test_batches_go_down_as_kafka_converts_them(kafka, target, magic, codec, options):
    for seed in range(5):
        source = records(seed, headers=magic == 2)
        data = build_batch(source, magic=magic, codec=codec, **options)
        for first_offset in (0, source[4].offset, source[-1].offset + 1):
            theirs, converted, temporary_bytes = kafka.down_convert(data, target, first_offset)
            ours = convert_down(data, target=target, first_offset=first_offset, out=bytearray())
            assert opened(ours.data) == opened(theirs)
            assert (ours.records, ours.temporary_bytes) == (converted, temporary_bytes)
            if codec is Codec.NONE:
                assert bytes(ours.data) == theirs


@pytest.mark.parametrize("target", [0, 1])
def test_a_log_of_everything_goes_down_as_kafka_converts_it(kafka, target):
    random = Random(7)
    parts, offset = [], 0
    for number in range(40):
        magic, codec = random.choice([form for form in FORMATS if form[1] is not Codec.ZSTD])
        source = records(number, count=random.choice((1, 3)), headers=magic == 2, first=offset)
        offset = source[-1].offset + random.choice((1, 5))
        parts.append(build_batch(source, magic=magic, codec=codec, **random.choice(({}, APPEND))))
        if number % 7 == 0:
            kind = ControlType.ABORT
            parts.append(
                build_control_marker(
                    kind, offset=offset, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=1
                )
            )
            parts.append(build_batch([], base_offset=offset + 1, last_offset=offset + 3))
            offset += 4
    data = b"".join(parts)
    for first_offset in (0, offset // 2, offset):
        theirs, converted, temporary_bytes = kafka.down_convert(data, target, first_offset)
        ours = convert_down(data, target=target, first_offset=first_offset, out=bytearray())
        assert opened(ours.data) == opened(theirs)
        assert kafka.read(bytes(ours.data)) == kafka.read(theirs)
        assert (ours.records, ours.temporary_bytes) == (converted, temporary_bytes)


def test_both_refuse_zstd_and_negative_timestamps(kafka):
    zstd = build_batch(records(), codec=Codec.ZSTD)
    with pytest.raises(UnsupportedCompression):
        convert_down(zstd, target=1, first_offset=0, out=bytearray())
    with pytest.raises(JavaError, match="UnsupportedCompressionType"):
        kafka.down_convert(zstd, 1, 0)
    negative = build_batch(records(), **(APPEND | {"log_append_time": -5}))
    with pytest.raises(InvalidRecord, match="negative timestamp"):
        convert_down(negative, target=1, first_offset=0, out=bytearray())
    with pytest.raises(JavaError, match="negative timestamp"):
        kafka.down_convert(negative, 1, 0)
