"""Reading what KRaft's controllers wrote."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from stepdown.protocol import metadata_log as records
from stepdown.protocol.acls import Acl, AclOperation, PatternType, PermissionType, ResourceType
from stepdown.protocol.metadata_log import encode_metadata_record
from stepdown.protocol.quorum_records import SnapshotFooterRecord, SnapshotHeaderRecord, encode_control_record
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.record import Record
from stepdown.storage.files.files import Files
from stepdown.storage.metadata.metadata_log_contents import DamagedMetadata, MetadataLogContents, read_metadata_log

ORDERS, OTHERS = UUID(int=1), UUID(int=2)
NO_OP, UNKNOWN = b"\x01\x14\x00\x00", b"\x01\x63\x00\xff"
WITH_UNKNOWN_TAG = b"\x01\x02\x00\x02x" + bytes(15) + b"\x09" + b"\x01\x07\x02ab"


def batch(first_offset: int, contents: Sequence[Any], epoch: int = 1) -> bytes:
    values = [each if isinstance(each, bytes) else encode_metadata_record(each) for each in contents]
    return build_batch(
        [Record(offset=first_offset + n, timestamp=0, value=value) for n, value in enumerate(values)],
        partition_leader_epoch=epoch,
    )


def control(offset: int, record: Any) -> bytes:
    key, value = encode_control_record(record)
    return build_batch([Record(offset=offset, timestamp=0, key=key, value=value)], control=True)


def segment(folder: Path, base_offset: int, *batches: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{base_offset:020d}.log").write_bytes(b"".join(batches))


def snapshot(folder: Path, end_offset: int, contents: Sequence[Any], epoch: int = 1) -> Path:
    path = folder / f"{end_offset:020d}-{epoch:010d}.checkpoint"
    whole = control(0, SnapshotHeaderRecord()) + batch(1, contents)
    path.write_bytes(whole + control(1 + len(contents), SnapshotFooterRecord()))
    return path


def read(folder: Path) -> MetadataLogContents:
    return read_metadata_log(Files(), str(folder))


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
    assert list(read(tmp_path).state.acls) == [
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
        batch(0, [NO_OP, *topic("orders", ORDERS, 3), *topic("others", OTHERS)]),
        batch(7, [config("retention.ms", "5"), config("a", "1"), config("a", None)]),
        batch(10, [config("log.roll.ms", "7", kind=4, of="")]),
        batch(11, [records.ClientQuotaRecord(entity=user, key="producer_byte_rate", value=5.0)]),
        batch(12, [records.ProducerIdsRecord(next_producer_id=2000), records.RemoveTopicRecord(topic_id=OTHERS)]),
    )
    state = read(tmp_path).state
    assert {name: (each.topic_id, each.partitions) for name, each in state.topics.items()} == {"orders": (ORDERS, 3)}
    assert state.topics["orders"].configs == {"retention.ms": "5"}
    assert state.cluster_configs == {"log.roll.ms": "7"}
    assert state.client_quotas == {(("user", None),): {"producer_byte_rate": 5.0}}
    assert state.next_producer_id == 2000
    assert read(tmp_path).end_offset == 14


def test_a_change_of_a_partition_changes_what_it_names(tmp_path: Path) -> None:
    change = records.PartitionChangeRecord(partition_id=0, topic_id=ORDERS, isr=(2,), leader=2)
    segment(tmp_path, 0, batch(0, [*topic("orders", ORDERS), change]))
    (record,) = read(tmp_path).state.topics["orders"].replicas
    assert (record.isr, record.leader, record.leader_epoch, record.partition_epoch) == ((2,), 2, 0, 0)


def test_a_snapshot_counts_for_what_was_before_it(tmp_path: Path) -> None:
    segment(tmp_path, 0, batch(0, [*topic("gone", OTHERS), config("retention.ms", "1")]), batch(3, [config("a", "1")]))
    segment(tmp_path, 4, batch(4, [config("b", "2")]))
    (tmp_path / f"{2:020d}-{1:010d}.checkpoint").write_bytes(b"")
    snapshot(tmp_path, 3, [*topic("orders", ORDERS), config("retention.ms", "9")])
    state = read(tmp_path).state
    assert list(state.topics) == ["orders"]
    assert state.topics["orders"].configs == {"retention.ms": "9", "a": "1", "b": "2"}


def test_a_snapshot_alone_is_enough_and_a_log_that_ends_before_it_does_not_count(tmp_path: Path) -> None:
    snapshot(tmp_path, 100, topic("orders", ORDERS), epoch=4)
    assert (read(tmp_path).end_offset, read(tmp_path).epoch, list(read(tmp_path).state.topics)) == (100, 4, ["orders"])
    segment(tmp_path, 0, batch(0, topic("gone", OTHERS)))
    contents = read(tmp_path)
    assert (contents.end_offset, list(contents.state.topics)) == (100, ["orders"])
    assert contents.superseded == (f"{0:020d}.log",)


def test_a_transaction_counts_when_it_ends(tmp_path: Path) -> None:
    begin, end, abort = (
        records.BeginTransactionRecord(name="a"),
        records.EndTransactionRecord(),
        records.AbortTransactionRecord(),
    )
    segment(
        tmp_path,
        0,
        batch(0, [*topic("orders", ORDERS), begin, config("kept", "1")]),
        batch(4, [end, begin, config("dropped", "1"), abort]),
        batch(8, [config("plain", "1"), begin, config("open", "1")]),
    )
    contents = read(tmp_path)
    assert contents.state.topics["orders"].configs == {"kept": "1", "plain": "1"}
    assert contents.is_in_transaction


@pytest.mark.parametrize("left", [10, 60, -1])
def test_what_was_being_written_is_told_and_does_not_count(tmp_path: Path, left: int) -> None:
    whole, torn = batch(0, [rule(1, "a")]), bytearray(batch(1, [rule(2, "b")]))
    if left < 0:
        torn[-20] ^= 1
    segment(tmp_path, 0, whole, torn[: left if left > 0 else None])
    contents = read(tmp_path)
    assert [acl.resource_name for acl in contents.state.acls] == ["a"]
    assert (contents.segment_bytes, contents.torn_bytes) == (len(whole), left if left > 0 else len(torn))


@pytest.mark.parametrize("at", [3, 8, 11, 16, 17, 30, 70])
def test_damage_with_whole_batches_after_it_is_refused(tmp_path: Path, at: int) -> None:
    damaged = bytearray(batch(2, [config("b", "2")]))
    damaged[at] ^= 1
    segment(tmp_path, 0, batch(0, topic("orders", ORDERS)), bytes(damaged), batch(3, [config("c", "3")]))
    with pytest.raises(DamagedMetadata, match=r"0\.log cannot be read: .* Put a good copy"):
        read(tmp_path)


def test_damage_in_a_segment_that_is_not_the_last_is_refused(tmp_path: Path) -> None:
    segment(tmp_path, 0, batch(0, topic("orders", ORDERS)), b"\0" * 40)
    segment(tmp_path, 2, batch(2, [config("c", "3")]))
    with pytest.raises(DamagedMetadata, match="is damaged"):
        read(tmp_path)


def test_missing_offsets_are_refused(tmp_path: Path) -> None:
    segment(tmp_path, 0, batch(0, topic("orders", ORDERS)), batch(3, [config("c", "3")]))
    with pytest.raises(DamagedMetadata, match="offset 2 was expected, found 3"):
        read(tmp_path)
    (tmp_path / f"{0:020d}.log").unlink()
    segment(tmp_path, 5, batch(5, [config("c", "3")]))
    with pytest.raises(DamagedMetadata, match="records from offset 0 on are in no file"):
        read(tmp_path)


def test_a_snapshot_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    path = snapshot(tmp_path, 3, topic("orders", ORDERS))
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedMetadata, match="the snapshot is not whole"):
            read(tmp_path)


@pytest.mark.lengthy
def test_no_flipped_bit_of_a_snapshot_goes_unseen(tmp_path: Path) -> None:
    path = snapshot(tmp_path, 3, topic("orders", ORDERS))
    whole = path.read_bytes()
    before = read(tmp_path).state
    for bit in range(len(whole) * 8):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            state = read(tmp_path).state
        except DamagedMetadata:
            continue
        assert state == before  # the epoch stands before what the checksum covers


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (UNKNOWN, "type 99, version 0, which is not known"),
        (b"\x01\x02\x01", "TopicRecord has version 1, which is not known"),
        (b"\x01\x11\x04\x00", "type 17, version 4, which is not known"),
        (b"\x02\x02\x00", "frame version 1, found 2"),
        (b"\x01\x02\x00\x05a", "a length of 4 with 1 bytes left"),
        (encode_metadata_record(records.RemoveTopicRecord(topic_id=OTHERS)), "there is no topic with the id"),
    ],
    ids=["type", "version", "passed over", "frame", "cut", "topic"],
)
def test_what_is_not_known_is_refused(tmp_path: Path, value: bytes, said: str) -> None:
    segment(tmp_path, 0, batch(0, [value]))
    with pytest.raises(DamagedMetadata, match=said):
        read(tmp_path)


def test_a_tagged_field_that_is_not_known_is_passed_over(tmp_path: Path) -> None:
    partition = records.PartitionRecord(partition_id=0, topic_id=UUID(int=9))
    segment(tmp_path, 0, batch(0, [WITH_UNKNOWN_TAG, partition]))
    assert list(read(tmp_path).state.topics) == ["x"]


def test_no_folder_is_no_metadata(tmp_path: Path) -> None:
    assert read(tmp_path / "absent").end_offset == 0
