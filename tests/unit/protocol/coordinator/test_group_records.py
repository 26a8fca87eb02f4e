"""The bytes of `__consumer_offsets`. Golden bytes were written out by hand from Kafka 3.9's message definitions."""

import pytest
from stepdown.protocol.coordinator import consumer_group_records as consumer
from stepdown.protocol.coordinator.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    ConsumerTopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from stepdown.protocol.coordinator.group_log import GroupRecord, decode_group_record, encode_group_record
from stepdown.protocol.coordinator.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from stepdown.protocol.coordinator.offset_records import OffsetCommitKey, OffsetCommitValue
from stepdown.protocol.coordinator.partitioning import java_string_hash, partition_of
from stepdown.protocol.errors import MalformedFrame
from support.groups import topic_id

KEY = OffsetCommitKey(group="g", topic="t", partition=3)
KEY_BYTES = b"\0\1\0\1g\0\1t\0\0\0\3"
OFFSET_AND_EPOCH = b"\0\0\0\0\0\0\0\7\0\0\0\5"
METADATA_AND_TIME = b"\0\1m\0\0\0\0\0\0\0\x0b"


def test_a_committed_offset_is_written_as_key_1_and_value_3():
    value = OffsetCommitValue(offset=7, leader_epoch=5, metadata="m", commit_timestamp=11)
    assert encode_group_record(GroupRecord(key=KEY, value=value)) == (
        KEY_BYTES,
        b"\0\3" + OFFSET_AND_EPOCH + METADATA_AND_TIME,
    )


def test_an_offset_with_its_own_expiry_is_written_as_value_1_and_loses_its_leader_epoch():
    value = OffsetCommitValue(offset=7, leader_epoch=5, metadata="m", commit_timestamp=11, expire_timestamp=13)
    _, written = encode_group_record(GroupRecord(key=KEY, value=value))
    assert written == b"\0\1\0\0\0\0\0\0\0\7" + METADATA_AND_TIME + b"\0\0\0\0\0\0\0\x0d"


@pytest.mark.parametrize(
    ("written", "epoch", "expiry"),
    [
        (b"\0\0" + OFFSET_AND_EPOCH[:8] + METADATA_AND_TIME, -1, -1),
        (b"\0\1" + OFFSET_AND_EPOCH[:8] + METADATA_AND_TIME + b"\0\0\0\0\0\0\0\x0d", -1, 13),
        (b"\0\2" + OFFSET_AND_EPOCH[:8] + METADATA_AND_TIME, -1, -1),
        (b"\0\3" + OFFSET_AND_EPOCH + METADATA_AND_TIME, 5, -1),
        (b"\0\4" + OFFSET_AND_EPOCH + b"\2m" + METADATA_AND_TIME[3:] + b"\0", 5, -1),
    ],
    ids=["v0", "v1", "v2", "v3", "v4"],
)
def test_every_version_of_an_offset_is_read(written, epoch, expiry):
    record = decode_group_record(KEY_BYTES, written)
    assert record.key == KEY
    assert record.value == OffsetCommitValue(
        offset=7, leader_epoch=epoch, metadata="m", commit_timestamp=11, expire_timestamp=expiry
    )


def test_key_version_0_is_read_as_1_is():
    assert decode_group_record(b"\0\0" + KEY_BYTES[2:], None).key == KEY


def test_a_group_is_written_as_key_2_and_value_3():
    member = MemberMetadata(
        member_id="m",
        group_instance_id=None,
        client_id="c",
        client_host="/h",
        rebalance_timeout=2,
        session_timeout=1,
        subscription=b"S",
        assignment=b"A",
    )
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=4,
        protocol="range",
        leader="m",
        current_state_timestamp=9,
        members=(member,),
    )
    key, written = encode_group_record(GroupRecord(key=GroupMetadataKey(group="g"), value=value))
    assert key == b"\0\2\0\1g"
    assert written == (
        b"\0\3"
        b"\0\x08consumer"
        b"\0\0\0\4"
        b"\0\5range"
        b"\0\1m"
        b"\0\0\0\0\0\0\0\x09"
        b"\0\0\0\1"
        b"\0\1m"
        b"\xff\xff"
        b"\0\1c"
        b"\0\2/h"
        b"\0\0\0\2"
        b"\0\0\0\1"
        b"\0\0\0\1S"
        b"\0\0\0\1A"
    )
    assert decode_group_record(key, written).value == value


def test_a_group_of_version_0_has_no_rebalance_timeout():
    written = b"\0\0\0\1p\0\0\0\1\xff\xff\xff\xff\0\0\0\1\0\1m\0\1c\0\1h\0\0\0\1\0\0\0\0\0\0\0\0"
    (member,) = decode_group_record(b"\0\2\0\1g", written).value.members
    assert (member.session_timeout, member.rebalance_timeout) == (1, -1)


@pytest.mark.parametrize(
    ("version", "key", "value"),
    [
        (3, consumer.ConsumerGroupMetadataKey(group_id="g"), consumer.ConsumerGroupMetadataValue(epoch=1)),
        (
            4,
            consumer.ConsumerGroupPartitionMetadataKey(group_id="g"),
            consumer.ConsumerGroupPartitionMetadataValue(
                topics=(
                    consumer.TopicMetadata(
                        topic_id=topic_id(1),
                        topic_name="t",
                        num_partitions=1,
                        partition_metadata=(consumer.PartitionMetadata(partition=0, racks=("r",)),),
                    ),
                )
            ),
        ),
        (
            5,
            consumer.ConsumerGroupMemberMetadataKey(group_id="g", member_id="m"),
            consumer.ConsumerGroupMemberMetadataValue(
                subscribed_topic_names=("t",),
                classic_member_metadata=consumer.ClassicMemberMetadata(
                    session_timeout_ms=1,
                    supported_protocols=(consumer.ClassicProtocol(name="range", metadata=b"S"),),
                ),
            ),
        ),
        (
            6,
            consumer.ConsumerGroupTargetAssignmentMetadataKey(group_id="g"),
            consumer.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=1),
        ),
        (
            7,
            consumer.ConsumerGroupTargetAssignmentMemberKey(group_id="g", member_id="m"),
            consumer.ConsumerGroupTargetAssignmentMemberValue(
                topic_partitions=(consumer.TopicPartitions(topic_id=topic_id(1), partitions=(0, 1)),)
            ),
        ),
        (
            8,
            consumer.ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id="m"),
            consumer.ConsumerGroupCurrentMemberAssignmentValue(member_epoch=2, previous_member_epoch=1, state=1),
        ),
    ],
    ids=["epoch", "topics", "member", "target epoch", "target", "current"],
)
def test_a_record_of_the_consumer_protocol_is_read_back(version, key, value):
    key_bytes, value_bytes = encode_group_record(GroupRecord(key=key, value=value))
    assert key_bytes[:2] == version.to_bytes(2, "big")
    assert value_bytes[:2] == b"\0\0"
    assert decode_group_record(key_bytes, value_bytes) == GroupRecord(key=key, value=value)


def test_a_tombstone_has_no_value():
    assert encode_group_record(GroupRecord(key=KEY, value=None)) == (KEY_BYTES, None)
    assert decode_group_record(KEY_BYTES, None).value is None


def test_keys_of_later_brokers_are_skipped():
    assert decode_group_record(b"\0\x10anything", b"") is None


@pytest.mark.parametrize("key", [b"", b"\0", b"\0\1\0\5g", KEY_BYTES[:-1]])
def test_a_key_that_is_cut_short_is_malformed(key):
    with pytest.raises(MalformedFrame):
        decode_group_record(key, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("polygenelubricants", -(1 << 31)), ("gruppe-ü", 673522922), ("\U0001f600", 1772899)],
)
def test_hashes_are_those_of_java(text, expected):
    assert java_string_hash(text) == expected


def test_a_group_whose_hash_has_no_positive_twin_is_in_partition_0():
    assert partition_of("polygenelubricants", 50) == 0
    assert partition_of("g", 50) == 103 % 50


def test_a_subscription_of_a_later_version_is_read_as_the_newest_known():
    written = encode_subscription(ConsumerSubscription(topics=("t",), rack_id="r"), 3)
    later = b"\0\x09" + written[2:] + b"more"
    assert decode_subscription(later) == ConsumerSubscription(topics=("t",), rack_id="r")


def test_an_assignment_is_read_back_and_no_bytes_assign_nothing():
    assignment = ConsumerAssignment(assigned_partitions=(ConsumerTopicPartitions(topic="t", partitions=(1, 2)),))
    assert decode_assignment(encode_assignment(assignment, 9)) == assignment
    assert decode_assignment(b"").assigned_partitions == ()
