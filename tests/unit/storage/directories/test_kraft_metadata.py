"""Reading what KRaft's controllers wrote."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from stepdown.protocol import metadata_log as records
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.primitives import write_uvarint
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.protocol.schema import encode
from stepdown.storage.directories.kraft_metadata import KraftMetadata, read_kraft_metadata
from stepdown.storage.files.files import Files

ORDERS, OTHERS = UUID(int=1), UUID(int=2)
TYPES = {
    records.TopicRecord: 2,
    records.PartitionRecord: 3,
    records.ConfigRecord: 4,
    records.RemoveTopicRecord: 9,
    records.ClientQuotaRecord: 14,
    records.ProducerIdsRecord: 15,
    records.AccessControlEntryRecord: 18,
    records.RemoveAccessControlEntryRecord: 19,
    records.BeginTransactionRecord: 23,
    records.EndTransactionRecord: 24,
    records.AbortTransactionRecord: 25,
}
UNKNOWN = b"\x01\x63\x00\xff"


def framed(record: Any) -> bytes:
    if isinstance(record, bytes):
        return record
    frame = b"".join(map(write_uvarint, (1, TYPES[type(record)], 0)))
    return frame + b"".join(bytes(piece) for piece in encode(record, 0))  # type: ignore[arg-type]


def batch(first_offset: int, contents: Sequence[Any]) -> bytes:
    values = [framed(each) for each in contents]
    return build_batch([Record(offset=first_offset + n, timestamp=0, value=value) for n, value in enumerate(values)])


def segment(folder: Path, base_offset: int, *batches: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{base_offset:020d}.log").write_bytes(b"".join(batches))


def read(folder: Path) -> KraftMetadata:
    metadata = read_kraft_metadata(Files(), str(folder))
    assert metadata is not None
    return metadata


def config(name: str, value: str | None, *, kind: int = 2, of: str = "orders") -> records.ConfigRecord:
    return records.ConfigRecord(resource_type=kind, resource_name=of, name=name, value=value)


def topic(name: str, topic_id: UUID, partitions: int = 1) -> list[Any]:
    parts = [records.PartitionRecord(partition_id=index, topic_id=topic_id) for index in range(partitions)]
    return [records.TopicRecord(name=name, topic_id=topic_id), *parts]


def rule(number: int, name: str) -> records.AccessControlEntryRecord:
    return records.AccessControlEntryRecord(
        acl_id=UUID(int=number),
        resource_type=2,
        resource_name=name,
        pattern_type=4,
        principal="User:a",
        host="*",
        operation=3,
        permission_type=2,
    )


def test_access_rules_are_found_but_those_that_were_removed(tmp_path: Path) -> None:
    gone = records.RemoveAccessControlEntryRecord(acl_id=UUID(int=1))
    segment(tmp_path, 0, batch(0, [rule(1, "a"), rule(2, "b"), gone]))
    assert list(read(tmp_path).acls.values()) == [
        Acl(
            resource_type=ResourceType.TOPIC,
            resource_name="b",
            pattern_type=PatternType.PREFIXED,
            principal="User:a",
            host="*",
            operation=AclOperation.READ,
            permission_type=PermissionType.DENY,
        )
    ]


def test_topics_configs_quotas_and_producer_ids_are_found(tmp_path: Path) -> None:
    user = (records.EntityData(entity_type="user", entity_name=None),)
    segment(
        tmp_path,
        0,
        batch(0, [UNKNOWN, *topic("orders", ORDERS, 3), *topic("others", OTHERS)]),
        batch(6, [config("retention.ms", "5"), config("a", "1"), config("a", None)]),
        batch(9, [config("log.roll.ms", "7", kind=4, of="")]),
        batch(10, [records.ClientQuotaRecord(entity=user, key="producer_byte_rate", value=5.0)]),
        batch(11, [records.ProducerIdsRecord(next_producer_id=2000), records.RemoveTopicRecord(topic_id=OTHERS)]),
    )
    metadata = read(tmp_path)
    assert metadata.topics == {"orders": ORDERS}
    assert metadata.partitions == {ORDERS: 3}
    assert metadata.configs == {(2, "orders"): {"retention.ms": "5"}, (4, ""): {"log.roll.ms": "7"}}
    assert metadata.quotas == {(("user", None),): {"producer_byte_rate": 5.0}}
    assert metadata.next_producer_id == 2000


def test_a_snapshot_counts_for_what_was_before_it(tmp_path: Path) -> None:
    segment(tmp_path, 0, batch(0, [*topic("gone", OTHERS), config("retention.ms", "1")]), batch(3, [config("a", "1")]))
    segment(tmp_path, 4, batch(4, [config("b", "2")]))
    (tmp_path / f"{2:020d}-{1:010d}.checkpoint").write_bytes(b"")
    snapshot = batch(0, [*topic("orders", ORDERS), config("retention.ms", "9")])
    (tmp_path / f"{3:020d}-{1:010d}.checkpoint").write_bytes(snapshot)
    metadata = read(tmp_path)
    assert metadata.topics == {"orders": ORDERS}
    assert metadata.configs == {(2, "orders"): {"retention.ms": "9", "a": "1", "b": "2"}}


def test_a_transaction_counts_when_it_ends(tmp_path: Path) -> None:
    begin, end, abort = (
        records.BeginTransactionRecord(),
        records.EndTransactionRecord(),
        records.AbortTransactionRecord(),
    )
    segment(
        tmp_path,
        0,
        batch(0, [begin, config("kept", "1")]),
        batch(2, [end, begin, config("dropped", "1"), abort]),
        batch(6, [config("plain", "1"), begin, config("open", "1")]),
    )
    assert read(tmp_path).configs == {(2, "orders"): {"kept": "1", "plain": "1"}}


def test_what_cannot_be_read_ends_it(tmp_path: Path) -> None:
    torn = bytearray(batch(3, [config("b", "2")]))
    torn[-1] ^= 1
    segment(tmp_path, 0, batch(0, [*topic("orders", ORDERS), config("a", "1")]), bytes(torn), b"\x00" * 40)
    assert read(tmp_path).configs == {(2, "orders"): {"a": "1"}}
    assert "checksum" in read(tmp_path).fault
    segment(tmp_path, 9, batch(9, [b"\x01"]), batch(10, [config("c", "3")]))
    assert "c" not in read(tmp_path).configs[2, "orders"]


@pytest.mark.parametrize("left", [10, 60])
def test_a_torn_tail_is_told(tmp_path: Path, left: int) -> None:
    """It was passed over, and an access rule in it with it."""
    whole, torn = batch(0, [rule(1, "a")]), batch(1, [rule(2, "b")])[:left]
    segment(tmp_path, 0, whole)
    assert not read(tmp_path).fault
    segment(tmp_path, 0, whole, torn)
    metadata = read(tmp_path)
    assert list(metadata.acls) == [UUID(int=1)]
    assert f"the {left} bytes at position {len(whole)}" in metadata.fault


def test_an_access_rule_of_an_unknown_version_is_not_passed_over(tmp_path: Path) -> None:
    newer = bytearray(framed(rule(1, "a")))
    newer[2] = 7
    segment(tmp_path, 0, batch(0, [bytes(newer)]))
    assert "access rule is written in version 7" in read(tmp_path).fault


def test_no_folder_is_no_metadata(tmp_path: Path) -> None:
    assert read_kraft_metadata(Files(), str(tmp_path / "absent")) is None
