import copy
import dataclasses
import pickle
from uuid import UUID

import pytest
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    SupportedFeatureKey,
)
from stepdown.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from stepdown.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from stepdown.protocol.primitives import write_uvarint
from stepdown.protocol.schema import decode, encode, int32, string, struct, structure

TOPIC_ID = UUID("01020304-0506-0708-090a-0b0c0d0e0f10")


class Slice:
    """Stands for bytes that are made when they are sent."""

    def __init__(self, size_bytes):
        self.size_bytes = size_bytes


def wire(value, version):
    return b"".join(encode(value, version))


def produce(records, **fields):
    data = PartitionProduceData(index=1, records=records)
    return ProduceRequest(
        acks=-1, timeout_ms=5, topic_data=[TopicProduceData(name="t", partition_data=[data])], **fields
    )


# Layouts as the protocol pages of each release show them, written by hand.


def test_fetch_v0_has_the_layout_of_the_first_clients():
    partition = FetchPartition(partition=2, fetch_offset=9, partition_max_bytes=64)
    request = FetchRequest(max_wait_ms=100, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[partition])])
    assert wire(request, 0) == bytes.fromhex(
        "ffffffff 00000064 00000001"
        "00000001 0001 74"
        "00000001 00000002 0000000000000009 00000040"
    )  # fmt: skip


def test_fetch_v17_has_compact_types_topic_ids_and_tagged_fields():
    partition = FetchPartition(partition=2, fetch_offset=9, partition_max_bytes=64, replica_directory_id=TOPIC_ID)
    request = FetchRequest(
        cluster_id="c",
        replica_state=ReplicaState(replica_id=3, replica_epoch=4),
        max_wait_ms=100,
        min_bytes=1,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
    )
    assert wire(request, 17) == bytes.fromhex(
        "00000064 00000001 7fffffff 00 00000000 ffffffff"
        "02 0102030405060708090a0b0c0d0e0f10"
        "02 00000002 ffffffff 0000000000000009 ffffffff ffffffffffffffff 00000040"
        "01 00 10 0102030405060708090a0b0c0d0e0f10"
        "00"
        "01 01"
        "02 00 02 02 63 01 0d 00000003 0000000000000004 00"
    )  # fmt: skip


def test_list_offsets_v0_asks_for_a_number_of_offsets():
    partition = ListOffsetsPartition(partition_index=3, timestamp=-1, max_num_offsets=2)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[partition])])
    assert wire(request, 0) == bytes.fromhex("ffffffff 00000001 0001 74 00000001 00000003 ffffffffffffffff 00000002")


def test_records_are_read_as_a_view_of_the_frame_and_written_as_they_stand():
    frame = memoryview(wire(produce(b"batch"), 3))
    records = decode(ProduceRequest, 3, frame).topic_data[0].partition_data[0].records
    assert records.obj is frame.obj
    assert records == b"batch"

    lazy = Slice(70_000)
    head, piece = encode(produce(lazy), 3)
    assert piece is lazy
    assert head[-4:] == (70_000).to_bytes(4, "big")


def test_what_follows_a_record_set_stands_in_a_piece_behind_it():
    lazy = Slice(10)
    assert [type(piece) for piece in encode(produce(lazy), 9)] == [bytearray, Slice, bytearray]


@pytest.mark.parametrize(("version", "length"), [(3, "ffffffff"), (9, "00")])
def test_absent_records_are_null_and_no_piece(version, length):
    (head,) = encode(produce(None), version)
    assert bytes.fromhex(length) in head
    assert decode(ProduceRequest, version, memoryview(head)).topic_data[0].partition_data[0].records is None


def test_empty_records_are_no_piece_and_not_null():
    (head,) = encode(produce(b""), 3)
    assert decode(ProduceRequest, 3, memoryview(head)).topic_data[0].partition_data[0].records == b""


def test_bytes_behind_the_message_are_ignored():
    assert decode(MetadataRequest, 0, memoryview(wire(MetadataRequest(), 0) + b"junk")) == MetadataRequest()


def test_no_topics_and_null_topics_differ_where_the_version_has_null():
    assert decode(MetadataRequest, 1, memoryview(b"\xff\xff\xff\xff")).topics is None
    assert decode(MetadataRequest, 1, memoryview(b"\0\0\0\0")).topics == ()
    with pytest.raises(MalformedFrame, match="MetadataRequest v0 topics is null"):
        decode(MetadataRequest, 0, memoryview(b"\xff\xff\xff\xff"))


def test_a_nullable_struct_has_a_byte_in_front():
    assert wire(DescribeTopicPartitionsRequest(), 0) == bytes.fromhex("01 000007d0 ff 00")
    with_cursor = DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="t", partition_index=1))
    assert wire(with_cursor, 0) == bytes.fromhex("01 000007d0 01 02 74 00000001 00 00")
    assert decode(DescribeTopicPartitionsRequest, 0, memoryview(wire(with_cursor, 0))) == with_cursor


def test_unknown_tagged_fields_are_skipped():
    known = wire(ApiVersionsResponse(api_keys=[ApiVersion(api_key=1)]), 3)
    assert known[-1:] == b"\0"
    unknown = known[:-1] + b"\x01\x63\x03abc"
    assert decode(ApiVersionsResponse, 3, memoryview(unknown)).api_keys == (ApiVersion(api_key=1),)


def test_tagged_fields_are_read_in_any_order_and_written_in_theirs():
    response = ApiVersionsResponse(
        supported_features=[SupportedFeatureKey(name="f", max_version=1)], finalized_features_epoch=7
    )
    features, epoch = b"\x00\x08\x02\x02f\0\0\0\x01\0", b"\x01\x08\0\0\0\0\0\0\0\x07"
    assert wire(response, 3).endswith(b"\x02" + features + epoch)
    swapped = wire(response, 3).replace(features + epoch, epoch + features)
    assert decode(ApiVersionsResponse, 3, memoryview(swapped)).finalized_features_epoch == 7


def test_a_tagged_field_of_the_wrong_size_is_refused():
    with pytest.raises(MalformedFrame, match="finalized_features_epoch"):
        decode(ApiVersionsResponse, 3, memoryview(b"\0\0\x01\0\0\0\0\x01\x01\x09" + bytes(9)))


def test_a_text_is_no_longer_than_kafka_takes():
    """Compact texts were as long as the request: an idle connection kept software with a name of 16 MB."""
    at_most = wire(ApiVersionsRequest(client_software_name="a" * 0x7FFF, client_software_version="1"), 3)
    assert len(decode(ApiVersionsRequest, 3, memoryview(at_most)).client_software_name) == 0x7FFF
    longer = write_uvarint(0x8001) + b"a" * 0x8000 + at_most[-3:]
    with pytest.raises(MalformedFrame, match="client_software_name: a length of 32768 with 32767 bytes at most"):
        decode(ApiVersionsRequest, 3, memoryview(longer))


def test_invalid_utf8_is_refused():
    with pytest.raises(MalformedFrame, match="MetadataRequest v0"):
        decode(MetadataRequest, 0, memoryview(b"\0\0\0\x01\0\x02\xc3\x28"))


def test_a_version_that_the_message_has_not_is_refused_by_name():
    with pytest.raises(MalformedFrame, match="FetchRequest has versions 0-17, not 18"):
        decode(FetchRequest, 18, memoryview(b""))
    with pytest.raises(ValueError, match="FetchRequest has versions 0-17, not -1"):
        encode(FetchRequest(), -1)


def test_a_value_that_an_older_version_would_lose_is_refused_unless_it_is_ignorable():
    with pytest.raises(ValueError, match="FetchRequest v0 topics partitions last_fetched_epoch: 5"):
        encode(FetchRequest(topics=[FetchTopic(partitions=[FetchPartition(last_fetched_epoch=5)])]), 0)
    with pytest.raises(ValueError, match="FetchResponse v4 session_id: 9"):
        encode(FetchResponse(session_id=9), 4)
    assert wire(FetchRequest(max_bytes=5), 0) == wire(FetchRequest(), 0)
    diverging = PartitionData(diverging_epoch=EpochEndOffset(epoch=1, end_offset=1))
    with pytest.raises(ValueError, match="diverging_epoch"):
        encode(FetchResponse(responses=[FetchableTopicResponse(partitions=[diverging])]), 11)


@pytest.mark.parametrize(
    ("request_value", "complaint"),
    [
        (MetadataRequest(topics=[MetadataRequestTopic(name=None)]), r"topics\[0\].name must not be None"),
        (MetadataRequest(topics=[MetadataRequestTopic(name="x" * 40_000)]), r"topics\[0\].name: 'xxx.* is no string"),
        (MetadataRequest(topics=7), "topics: 7 is no sequence"),
        (MetadataRequest(topics=["t"]), r"topics\[0\]: 't' is no MetadataRequestTopic"),
    ],
    ids=["null", "long", "no sequence", "wrong class"],
)
@pytest.mark.parametrize("version", [4, 9])
def test_a_value_that_does_not_fit_is_named_with_its_path(request_value, complaint, version):
    with pytest.raises(ValueError, match=f"MetadataRequest v{version}: {complaint}"):
        encode(request_value, version)


def test_a_number_that_is_too_wide_is_named():
    with pytest.raises(ValueError, match="FetchRequest v0: max_wait_ms: 2147483648 is no int32"):
        encode(FetchRequest(max_wait_ms=2**31), 0)
    with pytest.raises(ValueError, match="SaslAuthenticateResponse v0: auth_bytes: 'text' is no bytes"):
        encode(SaslAuthenticateResponse(auth_bytes="text"), 0)


def test_messages_are_frozen_values():
    request = FetchRequest(max_wait_ms=5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.max_wait_ms = 6
    assert request == FetchRequest(max_wait_ms=5)
    assert request != FetchRequest()
    assert request != ReplicaState()
    assert hash(request) == hash(FetchRequest(max_wait_ms=5))
    assert dataclasses.replace(request, max_wait_ms=0) == FetchRequest()
    assert not hasattr(request, "__dict__")
    assert repr(ReplicaState(replica_id=3)) == "ReplicaState(replica_id=3, replica_epoch=-1)"


def test_what_is_decoded_is_frozen_too():
    request = decode(FetchRequest, 0, memoryview(wire(FetchRequest(), 0)))
    assert type(request) is FetchRequest
    with pytest.raises(dataclasses.FrozenInstanceError):
        request.max_wait_ms = 6


def test_messages_can_be_copied_and_pickled():
    transaction = AbortedTransaction(producer_id=1, first_offset=2)
    assert copy.deepcopy(transaction) == pickle.loads(pickle.dumps(transaction)) == transaction


def test_fields_are_given_by_keyword_and_unknown_ones_are_refused():
    with pytest.raises(TypeError):
        ReplicaState(3)
    with pytest.raises(TypeError):
        ReplicaState(replica=3)


def test_arrays_are_written_from_any_sequence_and_read_as_tuples():
    assert wire(produce(b""), 3) == wire(
        dataclasses.replace(produce(b""), topic_data=tuple(produce(b"").topic_data)), 3
    )
    assert decode(MetadataRequest, 0, memoryview(bytes(4))).topics == ()


def test_a_part_of_a_message_cannot_be_sent_alone():
    with pytest.raises(TypeError, match="ReplicaState is part of a message"):
        encode(ReplicaState(), 0)


def test_a_version_range_that_nobody_can_read_is_refused_where_it_is_declared():
    with pytest.raises(ValueError, match="'1-' is no version range"):
        int32("1-")


def test_a_struct_may_hold_a_struct():
    @struct
    class Inner:
        name: str = string()

    @struct
    class Outer:
        inner: Inner = structure(Inner)

    assert Outer() == Outer(inner=Inner(name=""))
