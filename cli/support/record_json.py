"""Converts records to and from lines of JSON, for `consume --json` and `produce --json`.

    {"topic": "orders", "partition": 0, "offset": 7, "timestamp": 1700000000000, "timestampType": "CreateTime",
     "key": "k", "value": {"base64": "/wA="}, "headers": [{"key": "trace", "value": null}]}

Bytes that are UTF-8 are a string, others an object with their base64. null is null, so a tombstone is not an empty
value. A timestamp of -1 means no timestamp. On reading, only "value" is required; offset and timestampType of the
source are ignored.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Any, Final

from ...config.similar_names import nearest
from ...protocol.records.layout import TimestampType
from ...protocol.records.record import Header, Record

TIMESTAMP_TYPES: Final = {
    TimestampType.NONE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
FIELDS: Final = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
BASE64: Final = "base64"
MAX_PARTITION, MAX_TIMESTAMP = 2**31 - 1, 2**63 - 1
Bytes = bytes | memoryview | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecord:
    """A record to write. `topic`, `partition` and `timestamp` are None if the line has none."""

    topic: str | None = None
    partition: int | None = None
    timestamp: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()


def record_to_json(topic: str, partition: int, record: Record) -> str:
    """Returns the record as JSON, without a line feed."""
    values = {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": TIMESTAMP_TYPES[record.timestamp_type],
        "key": _bytes_to_json(record.key),
        "value": _bytes_to_json(record.value),
        "headers": [{"key": name, "value": _bytes_to_json(value)} for name, value in record.headers],
    }
    return json.dumps(values, ensure_ascii=False)


def record_from_json(line: bytes) -> NewRecord:
    """Returns the record of a line. Raises: ValueError that says what is wrong with the line."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as fault:
        at = f" from its character {fault.pos + 1} on" if isinstance(fault, json.JSONDecodeError) else ""
        raise ValueError(f'this is no JSON{at}; expected an object such as {{"key": "k", "value": "v"}}') from fault
    if not isinstance(given, dict):
        raise ValueError('expected an object such as {"key": "k", "value": "v"}')
    for name in given.keys() - set(FIELDS):
        near = nearest(name, FIELDS)
        meant = f", did you mean {near!r}?" if near else ""
        there_are = f"; there are {', '.join(FIELDS)}"
        raise ValueError(f"there is no field {name!r}{meant or there_are}")
    if "value" not in given:
        raise ValueError('there is no "value"; a tombstone has the value null')
    return NewRecord(
        topic=_check_text(given.get("topic"), "topic"),
        partition=_check_number(given.get("partition"), "partition", 0, MAX_PARTITION),
        timestamp=_check_number(given.get("timestamp"), "timestamp", -1, MAX_TIMESTAMP),
        key=_parse_bytes(given.get("key"), "key"),
        value=_parse_bytes(given["value"], "value"),
        headers=_parse_headers(given.get("headers")),
    )


def _bytes_to_json(data: Bytes) -> str | dict[str, str] | None:
    if data is None:
        return None
    data = bytes(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {BASE64: b64encode(data).decode()}


def _parse_bytes(given: Any, name: str) -> bytes | None:
    if given is None:
        return None
    try:
        if isinstance(given, str):
            return given.encode()
        if isinstance(given, dict) and given.keys() == {BASE64} and isinstance(given[BASE64], str):
            return b64decode(given[BASE64], validate=True)
    except (UnicodeEncodeError, Base64Error) as fault:
        raise ValueError(f"{name}: {fault}") from fault
    raise ValueError(f'{name}: expected a string, null or {{"base64": "..."}}')


def _parse_headers(given: Any) -> tuple[Header, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise ValueError('headers: expected a list of {"key": "name", "value": "v"}')
    found = []
    for each in given:
        if not isinstance(each, dict) or each.keys() != {"key", "value"} or not isinstance(each["key"], str):
            raise ValueError('headers: expected {"key": "name", "value": "v"} for each')
        if (value := _parse_bytes(each["key"], "a header's key")) is not None:
            found.append((value.decode(), _parse_bytes(each["value"], f"header {each['key']}")))
    return tuple(found)


def _check_text(given: Any, name: str) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise ValueError(f"{name}: expected a string")


def _check_number(given: Any, name: str, lowest: int, highest: int) -> int | None:
    if given is None or (type(given) is int and lowest <= given <= highest):
        return given
    raise ValueError(f"{name}: expected a number from {lowest} to {highest}")
