"""Requests of which one connection may hold many others up, and what a row of them needs to be there first.

Everything is bytes that any broker reads; what stepdown serves and Kafka does not is left to `rows`.
"""

import struct
from collections.abc import Iterator
from itertools import count
from random import Random
from uuid import uuid4

from stepdown.bench.servers.admin_connection import frame_of
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.find_coordinator import FindCoordinatorRequest
from stepdown.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from stepdown.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from stepdown.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from stepdown.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from stepdown.protocol.records.builder import build_batch, encode_message
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record

TOPIC = "hostile"
WIDE_TOPIC = "wide"
WIDE_PARTITIONS = 5_000
BROKER_RESOURCE = 4
TAGGED_FIELDS = 50_000_000


def pipelined_api_versions() -> bytes:
    return frame_of(ApiVersionsRequest(), 0) * 2_000


def pipelined_metadata() -> bytes:
    return frame_of(MetadataRequest(topics=()), 1) * 2_000


def pipelined_produce() -> bytes:
    """Records of 30 bytes, one a request."""
    return frame_of(_produce({0: _batch(bytes(30), Codec.NONE)}), 3) * 1_000


def the_broker_named_again(times: int) -> bytes:
    resource = DescribeConfigsResource(resource_type=BROKER_RESOURCE, resource_name="1", configuration_keys=None)
    return frame_of(DescribeConfigsRequest(resources=(resource,) * times), 1)


def tagged_fields_in_the_header(fields: int = TAGGED_FIELDS) -> bytes:
    head = struct.pack(">hhih", 18, 3, 1, 1) + b"h"
    return framed(head + _tagged(fields))


def tagged_fields_in_the_body(fields: int = TAGGED_FIELDS) -> bytes:
    head = struct.pack(">hhih", 18, 3, 1, 1) + b"h\0" + b"\2n\2v"
    return framed(head + _tagged(fields))


def many_names(names: int = 2_000_000) -> bytes:
    topics = tuple(MetadataRequestTopic(name=f"n{number:07}") for number in range(names))
    return frame_of(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 4)


def many_coordinators(entries: int = 500_000) -> bytes:
    keys = tuple(f"{number:x}" for number in range(entries))
    return frame_of(FindCoordinatorRequest(key_type=0, coordinator_keys=keys), 4)


def many_offsets_fetched(entries: int = 500_000) -> bytes:
    topic = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=range(entries))
    return frame_of(OffsetFetchRequest(group_id="g", topics=(topic,)), 2)


def many_offsets_listed(entries: int = 500_000) -> bytes:
    partitions = (ListOffsetsPartition(partition_index=number, timestamp=-1) for number in range(entries))
    return frame_of(
        ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=TOPIC, partitions=tuple(partitions)),)), 1
    )


def expressions() -> Iterator[bytes]:
    """Members of ever new groups, whose expressions are hard on names of 200 letters."""
    for number in count():
        pattern = (f".*[a-m].{{{60 + number % 60}}}.*", f".*.{{{number % 100 + 300}}}.*.{{400}}.*")[number % 2]
        yield frame_of(
            ConsumerGroupHeartbeatRequest(
                group_id=f"expression-{number % 50}",
                member_id=str(uuid4()),
                member_epoch=0,
                rebalance_timeout_ms=45_000,
                subscribed_topic_regex=pattern,
                topic_partitions=(),
            ),
            1,
        )


def parked_fetch() -> bytes:
    """Of 5,000 partitions, for half a minute."""
    partitions = tuple(
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20)
        for number in range(WIDE_PARTITIONS)
    )
    topic = FetchTopic(topic=WIDE_TOPIC, partitions=partitions)
    return frame_of(FetchRequest(max_wait_ms=30_000, min_bytes=1 << 30, topics=(topic,)), 4)


def all_topics() -> bytes:
    return frame_of(MetadataRequest(topics=None), 1)


def fetch_with_a_session(partitions: int = 20_000) -> bytes:
    """Of a topic that is not there; the session remembers each of them."""
    asked = tuple(
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20) for number in range(partitions)
    )
    topics = (FetchTopic(topic="none", partitions=asked),)
    return frame_of(FetchRequest(max_wait_ms=0, min_bytes=0, session_id=0, session_epoch=0, topics=topics), 7)


def one_offset_fetched_again(times: int = 90_000) -> bytes:
    topic = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=(0,) * times)
    return frame_of(OffsetFetchRequest(group_id="with-metadata", topics=(topic,)), 2)


def join_with_protocols(protocols: int = 19_000) -> bytes:
    named = tuple(JoinGroupRequestProtocol(name=f"{number:x}", metadata=b"") for number in range(protocols))
    return frame_of(
        JoinGroupRequest(
            group_id="protocols",
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
            member_id="",
            protocol_type="consumer",
            protocols=named,
        ),
        2,
    )


def produce_batch(batch: bytes) -> bytes:
    return frame_of(_produce({0: batch}), 7)


def produce_to(partition: int) -> bytes:
    return frame_of(_produce({partition: _batch(b"x", Codec.NONE)}, WIDE_TOPIC), 3)


def batches_that_open_wide(batches: int = 200, opened_bytes: int = 40_000_000) -> bytes:
    batch = _batch(bytes(opened_bytes), Codec.ZSTD)
    return frame_of(_produce(dict.fromkeys(range(batches), batch), WIDE_TOPIC), 7)


def old_messages_of_the_wrong_kind(partitions: int = 50, set_bytes: int = 24_000) -> bytes:
    """Message sets of magic 1 that say LogAppendTime, which only a broker may: each message is looked at by itself."""
    message = encode_message(magic=1, offset=0, timestamp=1, attributes=8, key=b"k", value=b"")
    messages = message * (set_bytes // len(message))
    return frame_of(_produce(dict.fromkeys(range(partitions), messages)), 2)


def small_batches_of_gzip(partitions: int = 50, opened_bytes: int = 60_000) -> bytes:
    """For `old_fetches_of_small_batches`: each takes as long as one may in the event loop."""
    words = Random(1)
    value = b"".join(b"word%d " % words.randrange(300) for _ in range(opened_bytes // 8))[:opened_bytes]
    return frame_of(_produce(dict.fromkeys(range(partitions), _batch(value, Codec.GZIP))), 7)


def old_fetch_of_small_batches(partitions: int = 50) -> bytes:
    asked = tuple(
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=32_000) for number in range(partitions)
    )
    return frame_of(FetchRequest(max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic=TOPIC, partitions=asked),)), 2)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def _tagged(fields: int) -> bytes:
    return _uvarint(fields) + b"\0\0" * fields


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes((value,))


def _batch(value: bytes, codec: Codec) -> bytes:
    return build_batch([Record(offset=0, timestamp=1, key=None, value=value, headers=())], magic=2, codec=codec)


def _produce(batches: dict[int, bytes], topic: str = TOPIC) -> ProduceRequest:
    data = tuple(PartitionProduceData(index=number, records=batch) for number, batch in batches.items())
    return ProduceRequest(acks=1, timeout_ms=10_000, topic_data=(TopicProduceData(name=topic, partition_data=data),))
