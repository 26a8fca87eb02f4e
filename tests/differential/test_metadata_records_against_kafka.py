"""Metadata records are what Kafka's own classes write and read."""

from typing import Any
from uuid import UUID

import pytest
from stepdown.protocol import metadata_log as records
from stepdown.protocol.metadata_log import decode_metadata_record, encode_metadata_record
from stepdown.protocol.schema import schema_of
from support.java_oracle import JavaOracle, java_oracle_for

pytestmark = pytest.mark.java

NOT_IN_3_9 = {records.ClearElrRecord}
KINDS = [kind for kind in records._TYPES.values() if kind not in NOT_IN_3_9]
IDS = (UUID("436c7a4e-a0af-4352-893e-0307916b1357"), UUID(int=7))
VALUES: dict[str, Any] = {
    "INT8": 3, "UINT16": 50_000, "INT16": 21, "INT32": 70_000, "INT64": 1 << 40, "FLOAT64": 1024.5, "BOOLEAN": True,
    "UUID": IDS[0], "STRING": "Zürich", "BYTES": b"\0\1\xff",
}  # fmt: skip


def filled(kind: type[Any], version: int) -> Any:
    """A record in which no field that this version has is as it is by default."""
    values: dict[str, Any] = {}
    for field in schema_of(kind).fields:
        if version not in field.versions:
            continue
        if field.element is not None:
            values[field.name] = (filled(field.element, version),)
        elif field.item is not None:
            values[field.name] = {"INT32": (1, 2), "UUID": IDS, "STRING": ("a", "b")}[field.item.name]
        else:
            values[field.name] = VALUES[field.kind.name]
    return kind(**values)


@pytest.fixture(scope="module")
def metadata_oracle() -> JavaOracle:
    return java_oracle_for("metadata")


VERSIONS = [(kind, version) for kind in KINDS for version in range(4) if version in (schema_of(kind).versions or ())]


@pytest.mark.parametrize(
    ("kind", "version"), VERSIONS, ids=[f"{kind.__name__}-{version}" for kind, version in VERSIONS]
)
def test_kafka_reads_and_writes_the_same_bytes(metadata_oracle: JavaOracle, kind: type[Any], version: int) -> None:
    for record in (filled(kind, version), kind()):
        value = encode_metadata_record(record, version)
        answer = metadata_oracle.call("MetadataRecords.echo", value)
        size = int.from_bytes(answer[:4], "big")
        assert answer[4 : 4 + size] == value, answer[4 + size :].decode()
        assert decode_metadata_record(memoryview(value)) == record
