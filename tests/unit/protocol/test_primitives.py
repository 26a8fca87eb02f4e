import pytest
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.primitives import Primitive, read_uvarint, size_of, skip_tagged_fields, write_uvarint

UVARINTS = [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (16383, "ff7f"), (2**32 - 1, "ffffffff0f")]


@pytest.mark.parametrize(("value", "bytes_hex"), UVARINTS)
def test_an_unsigned_varint_is_written_and_read(value, bytes_hex):
    data = bytes.fromhex(bytes_hex)
    assert write_uvarint(value) == data
    assert read_uvarint(memoryview(b"?" + data + b"?"), 1) == (value, 1 + len(data))


@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"\xff\xff\xff\xff", b"\x80\x80\x80\x80\x80\x01", b"\xff\xff\xff\xff\x1f"]
)
def test_an_unsigned_varint_that_does_not_end_or_is_too_wide_is_refused(data):
    with pytest.raises(MalformedFrame, match="no uvarint"):
        read_uvarint(memoryview(data), 0)


def test_tagged_fields_are_skipped_to_their_end():
    assert skip_tagged_fields(memoryview(bytes.fromhex("02 00 01 ff 05 00 aa")), 0) == 6


@pytest.mark.parametrize("data", ["01", "01 00", "01 00 02 ff", "ffffffff0f 00"])
def test_tagged_fields_that_run_past_the_end_are_refused(data):
    with pytest.raises(MalformedFrame):
        skip_tagged_fields(memoryview(bytes.fromhex(data)), 0)


def test_a_piece_has_the_size_of_its_bytes():
    class Lazy:
        size_bytes = 7

    assert [size_of(piece) for piece in (b"ab", bytearray(3), memoryview(b"abcd"), Lazy())] == [2, 3, 4, 7]


def test_widths_are_those_of_the_wire():
    assert [
        kind.width for kind in (Primitive.INT8, Primitive.INT16, Primitive.INT64, Primitive.UUID, Primitive.STRING)
    ] == [1, 2, 8, 16, 0]
