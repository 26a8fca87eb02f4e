"""Golden bytes of the record formats, made by kafka-clients 3.9.0 (all but the tombstone and the LogAppendTime message,
which were computed by the rules).
"""

import pytest
from stepdown.protocol.records import kernel
from stepdown.protocol.records.batches import view_batch
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.compression import lz4_frame
from stepdown.protocol.records.layout import ControlType, TimestampType
from stepdown.protocol.records.record import Record

APPEND = TimestampType.LOG_APPEND_TIME

V0_VALUE = "00000000000000070000000f51df3a320000ffffffff0000000161"
V0_TOMBSTONE = "00000000000000080000000f908204f60000000000016bffffffff"
V1_VALUE = "0000000000000007000000178a65e96d010000000000000003e8ffffffff0000000161"
V1_APPEND_TIME = "0000000000000007000000179d344761010800000000000003e8ffffffff0000000161"
V2_VALUE = (
    "0000000000000007000000390000000002ebf1884b00000000000000000000000003e800000000000003e8"
    "ffffffffffffffffffffffffffff000000010e00000001026100"
)
V2_HEADER = (
    "00000000000000070000003d00000000027b95d1ed00000000000000000000000003e800000000000003e8"
    "ffffffffffffffffffffffffffff0000000116000000026b010202680231"
)
V2_COMMIT = (
    "00000000000000090000004200000000028ad0583e00300000000000000000000003e800000000000003e8"
    "00000000000000050000ffffffff000000012000000008000000010c00000000000300"
)

A = Record(offset=7, timestamp=1000, value=b"a")
HEADED = Record(offset=7, timestamp=1000, key=b"k", headers=(("h", b"1"),))

BUILT = {
    "v0 value": (V0_VALUE, lambda: build_batch([A], magic=0)),
    "v0 tombstone": (V0_TOMBSTONE, lambda: build_batch([Record(offset=8, key=b"k")], magic=0)),
    "v1 value": (V1_VALUE, lambda: build_batch([A], magic=1)),
    "v1 append time": (
        V1_APPEND_TIME,
        lambda: build_batch([Record(offset=7, value=b"a")], magic=1, timestamp_type=APPEND, log_append_time=1000),
    ),
    "v2 value": (V2_VALUE, lambda: build_batch([A], partition_leader_epoch=0)),
    "v2 header": (V2_HEADER, lambda: build_batch([HEADED], partition_leader_epoch=0)),
    "v2 commit": (
        V2_COMMIT,
        lambda: build_control_marker(
            ControlType.COMMIT,
            offset=9,
            producer_id=5,
            producer_epoch=0,
            coordinator_epoch=3,
            timestamp=1000,
            partition_leader_epoch=0,
        ),
    ),
}

READ = {
    "v0 value": (V0_VALUE, Record(offset=7, timestamp_type=TimestampType.NONE, value=b"a")),
    "v0 tombstone": (V0_TOMBSTONE, Record(offset=8, timestamp_type=TimestampType.NONE, key=b"k")),
    "v1 value": (V1_VALUE, A),
    "v1 append time": (V1_APPEND_TIME, Record(offset=7, timestamp=1000, timestamp_type=APPEND, value=b"a")),
    "v2 value": (V2_VALUE, A),
    "v2 header": (V2_HEADER, HEADED),
    "v2 commit": (
        V2_COMMIT,
        Record(offset=9, timestamp=1000, key=bytes.fromhex("00000001"), value=bytes.fromhex("000000000003")),
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_the_builder_makes_the_golden_bytes(name):
    golden, build = BUILT[name]
    assert build().hex() == golden


@pytest.mark.parametrize("name", READ)
def test_the_golden_bytes_read_as_their_record(name):
    golden, record = READ[name]
    batch = view_batch(bytes.fromhex(golden))
    batch.ensure_valid()
    assert list(batch.records()) == [record]


def test_a_commit_marker_is_a_transactional_control_batch_without_a_sequence():
    marker = view_batch(bytes.fromhex(V2_COMMIT))
    assert marker.is_control
    assert marker.is_transactional
    assert (marker.producer_id, marker.producer_epoch, marker.base_sequence, marker.last_sequence) == (5, 0, -1, -1)


def test_lz4_headers_have_the_right_checksum_and_the_one_that_old_clients_verify():
    assert lz4_frame.HEADER.hex() == "04224d18604082"
    assert lz4_frame.BROKEN_HEADER.hex() == "04224d1860401a"


def test_checksums_have_their_check_values():
    assert kernel.crc32c(b"123456789") == 0xE3069283
    assert kernel.crc32(b"123456789") == 0xCBF43926
    assert kernel.xxh32(b"") == 0x02CC5D05
    assert kernel.xxh32(b"Nobody inspects the spammish repetition") == 0xE2293B2F
