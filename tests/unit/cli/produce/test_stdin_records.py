"""Stdin in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepdown.cli.produce.stdin_records import DelimitedInput, JsonRecordParser, TextRecordParser
from stepdown.cli.support.record_json import NewRecord


@given(
    data=st.binary(max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    delimiter=st.sampled_from([b"\n", b"aa", b"\0"]),
)
def test_pieces_do_not_depend_on_how_the_bytes_come(data: bytes, cuts: list[int], delimiter: bytes) -> None:
    data = data.replace(b"\x01", b"a").replace(b"\x02", b"\n")
    pieces, found, before = DelimitedInput(delimiter, 1000), [], 0
    for cut in [*sorted(cuts), len(data)]:
        found += pieces.feed(data[before:cut])
        before = max(before, cut)
    expected = data.split(delimiter)
    assert found + pieces.rest() == (expected if expected[-1] else expected[:-1])


def test_a_piece_without_an_end_is_refused_before_it_fills_the_memory() -> None:
    pieces = DelimitedInput(b"\n", 10)
    assert pieces.feed(b"0123456789") == []
    with pytest.raises(ValueError, match="longer than 10 bytes"):
        pieces.feed(b"0")


def test_a_plain_piece_is_a_key_and_a_value_and_marks_are_null() -> None:
    reading = TextRecordParser(separator=b"\t", null_value=b"NULL", null_key=b"", timestamp=5, headers=(("h", b"1"),))
    assert reading.parse_record(b"k\tv\tw") == NewRecord(key=b"k", value=b"v\tw", timestamp=5, headers=(("h", b"1"),))
    assert reading.parse_record(b"\tNULL") == NewRecord(timestamp=5, headers=(("h", b"1"),))
    assert reading.parse_record(b"k\t").value == b""
    with pytest.raises(ValueError, match="no key separator"):
        reading.parse_record(b"v")


def test_the_commands_headers_and_time_are_added_to_json() -> None:
    reading = JsonRecordParser(headers=(("h", b"1"),), timestamp=5)
    found = reading.parse_record(b'{"value": "v", "timestamp": 4, "headers": [{"key": "g", "value": "2"}]}')
    assert found == NewRecord(value=b"v", timestamp=5, headers=(("g", b"2"), ("h", b"1")))
