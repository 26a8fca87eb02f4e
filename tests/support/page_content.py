"""What the page has to show: records and names with markup, terminal escapes, and what is no text."""

from stepdown.broker.page.record_reading import MOST_FIELD_BYTES
from stepdown.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record

from .admin import write
from .client import RawClient
from .record_sets import NOW, record_set

MARKUP = "<img src=x onerror=alert(1)>\x1b[31m\r\nSet-Cookie: a=b"
VALUES = (MARKUP.encode(), b"\x00\xff", "é".encode() * MOST_FIELD_BYTES)


def record(offset: int, value: bytes | None) -> Record:
    return Record(offset=offset, timestamp=NOW + offset, key=b"k", value=value, headers=(("<h>", b"\xfe"),))


async def write_values(client: RawClient) -> None:
    content = [record(offset, value) for offset, value in enumerate(VALUES)]
    await write(client, "orders", data=record_set(2, Codec.GZIP, content))


async def commit(client: RawClient, group: str, offset: int) -> None:
    place = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=MARKUP)
    topic = OffsetCommitRequestTopic(name="orders", partitions=(place,))
    answer = await client.send(OffsetCommitRequest(group_id=group, topics=(topic,)), 2)
    assert answer.topics[0].partitions[0].error_code == 0
