"""Records as lines of JSON."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stepdown.cli.support.record_json import NewRecord, record_from_json, record_to_json
from stepdown.protocol.records.layout import TimestampType
from stepdown.protocol.records.record import Record

some_bytes = st.none() | st.binary(max_size=8) | st.text(max_size=8).map(str.encode)


@given(
    key=some_bytes,
    value=some_bytes,
    headers=st.lists(st.tuples(st.text(max_size=4), some_bytes), max_size=3),
    timestamp=st.integers(-1, 2**63 - 1),
)
def test_what_is_printed_is_read_as_it_was(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]], timestamp: int
) -> None:
    record = Record(offset=7, timestamp=timestamp, key=key, value=value, headers=tuple(headers))
    assert record_from_json(record_to_json("t", 3, record).encode()) == NewRecord(
        topic="t", partition=3, timestamp=timestamp, key=key, value=value, headers=tuple(headers)
    )


def test_a_line_says_all_there_is_to_a_record() -> None:
    record = Record(offset=7, timestamp=5, timestamp_type=TimestampType.LOG_APPEND_TIME, key=b"k", value=b"\xff")
    assert json.loads(record_to_json("t", 3, record)) == {
        "topic": "t",
        "partition": 3,
        "offset": 7,
        "timestamp": 5,
        "timestampType": "LogAppendTime",
        "key": "k",
        "value": {"base64": "/w=="},
        "headers": [],
    }


def test_only_a_value_has_to_be_there() -> None:
    assert record_from_json(b'{"value": "v"}') == NewRecord(value=b"v")
    assert record_from_json(b'{"value": null, "offset": 4, "timestampType": "CreateTime"}') == NewRecord()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"value", "this is no JSON from its character 1 on; expected an object"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "expected an object"),
        (b'{"key": "k"}', 'no "value"'),
        (b'{"value": 1}', "value: expected a string"),
        (b'{"value": {"base64": "!"}}', "value: "),
        (b'{"value": {"hex": "00"}}', "value: expected a string"),
        (b'{"value": "\\ud800"}', "value: "),
        (b'{"value": "v", "partitoin": 1}', "did you mean 'partition'"),
        (b'{"value": "v", "qqq": 1}', "no field 'qqq'; there are topic, partition, offset, timestamp, "),
        (b'{"value": "v", "partition": -1}', "partition: expected a number from 0"),
        (b'{"value": "v", "partition": true}', "partition: expected a number"),
        (b'{"value": "v", "timestamp": 1.5}', "timestamp: expected a number from -1"),
        (b'{"value": "v", "topic": 1}', "topic: expected a string"),
        (b'{"value": "v", "headers": {"a": "b"}}', "headers: expected a list"),
        (b'{"value": "v", "headers": [{"key": 1, "value": null}]}', "headers: expected"),
    ],
)
def test_what_is_wrong_with_a_line_is_told(line: bytes, told: str) -> None:
    """It said `Expecting value: line 1 column 1 (char 0)`, and did not list the fields."""
    with pytest.raises(ValueError, match=re.escape(told)):
        record_from_json(line)
