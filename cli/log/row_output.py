"""Formats rows of a dump as lines: as JSON, or for people with the terms of Kafka's own tool."""

from __future__ import annotations

import base64
import json
from typing import Any

from .segment_rows import Row

_NAMES = {
    "base_offset": "baseOffset",
    "last_offset": "lastOffset",
    "base_sequence": "baseSequence",
    "first_sequence": "firstSequence",
    "last_sequence": "lastSequence",
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "leader_epoch": "partitionLeaderEpoch",
    "transactional": "isTransactional",
    "control": "isControl",
    "size_bytes": "size",
    "codec": "compresscodec",
    "valid": "isvalid",
    "first_offset": "firstOffset",
    "last_stable_offset": "lastStableOffset",
    "coordinator_epoch": "coordinatorEpoch",
    "transaction_first_offset": "currentTxnFirstOffset",
    "last_timestamp": "lastTimestamp",
    "control_type": "endTxnMarker",
    "start_offset": "startOffset",
    "topic_id": "topicId",
    "node_id": "nodeId",
    "cluster_id": "clusterId",
    "directory_id": "directoryId",
}
_BATCH = (
    "base_offset",
    "last_offset",
    "count",
    "base_sequence",
    "last_sequence",
    "producer_id",
    "producer_epoch",
    "leader_epoch",
    "transactional",
    "control",
    "position",
)
_BATCH_END = ("size_bytes", "magic", "codec", "crc", "valid")
_OF_MANY = {
    "batch": ("batches", "batch"),
    "record": ("records", "record"),
    "index": ("entries", "entry"),
    "time_index": ("entries", "entry"),
    "aborted_transaction": ("aborted transactions", "aborted transaction"),
    "producer": ("producers", "producer"),
    "checkpoint": ("partitions", "partition"),
    "leader_epoch": ("epochs", "epoch"),
}


def as_json(path: str, row: Row) -> str:
    """One JSON object on one line; bytes are text where they are UTF-8, else {"base64": …}."""
    return json.dumps({"file": path, **{name: _json_value(value) for name, value in row.items()}})


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [{"key": name, "value": _json_value(content)} for name, content in value]
    return value


def as_text(row: Row) -> str:
    """Returns one line for people."""
    kind = row["kind"]
    if kind == "batch":
        return _batch_text(row)
    if kind == "record":
        return _record_text(row)
    if kind == "summary":
        return _summary_text(row)
    if kind == "problem":
        where = ", ".join(f"{name} {value}" for name, value in row.items() if name not in ("kind", "message"))
        return f"PROBLEM: {row['message']}" + (f" ({where})" if where else "")
    if kind == "reserved":
        return f"{row['size_bytes']} preallocated bytes of zero from position {row['position']} on"
    return _name_value_text(row, tuple(name for name in row if name != "kind"))


def _name_value_text(row: Row, names: tuple[str, ...]) -> str:
    return " ".join(f"{_NAMES.get(name, name)}: {_value_text(row[name])}" for name in names if name in row)


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "none" if value is None else str(value)


def _batch_text(row: Row) -> str:
    stamp = f"{row['timestamp_type'] or 'NoTimestampType'}: {row['max_timestamp']}"
    is_legacy = "producer_id" not in row
    front = f"offset: {row['last_offset']} position: {row['position']}" if is_legacy else _name_value_text(row, _BATCH)
    return f"{front} {stamp} {_name_value_text(row, _BATCH_END)}"


def _record_text(row: Row) -> str:
    sizes = f"keySize: {_size_or_minus_one(row['key'])} valueSize: {_size_or_minus_one(row['value'])}"
    parts = [f"| offset: {row['offset']} timestamp: {row['timestamp']} {sizes}"]
    if "sequence" in row:
        parts.append(f"sequence: {row['sequence']}")
    if row.get("headers"):
        parts.append("headers: [" + ",".join(f"{name}={_escape_bytes(value)}" for name, value in row["headers"]) + "]")
    if "control_type" in row:
        return " ".join([*parts, _name_value_text(row, ("control_type", "coordinator_epoch"))])
    parts += [f"{name}: {_escape_bytes(row[field])}" for name, field in (("key", "key"), ("payload", "value"))]
    return " ".join(parts)


def _size_or_minus_one(value: bytes | None) -> int:
    return -1 if value is None else len(value)


def _escape_bytes(value: bytes | None) -> str:
    """Returns the bytes as text on one line; bytes that are not printable UTF-8 are escaped."""
    if value is None:
        return "null"
    text = value.decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(_escape(character) for character in text)


def _escape(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def _summary_text(row: Row) -> str:
    counted = dict(row["counts"])
    problems = counted.pop("problem", 0)
    parts = [f"{row['size_bytes']} bytes"]
    parts += [f"{count} {_OF_MANY[kind][count == 1]}" for kind, count in counted.items() if kind in _OF_MANY]
    parts.append(f"{problems} problem{'' if problems == 1 else 's'}" if problems else "sound")
    return ", ".join(parts)
