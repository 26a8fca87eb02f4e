"""What the page has to show: records and names with markup, terminal escapes, and what is no text."""

from stepdown.broker.page.record_reading import MOST_FIELD_BYTES
from stepdown.network.admission.password_delays import PasswordDelays
from stepdown.network.admission.peer_log_limit import PeerLogLimit
from stepdown.network.clock import LoopClock
from stepdown.network.metrics.instruments import Instruments
from stepdown.network.page.page_access import PageAccess
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


def access(password: str = "") -> PageAccess:
    """Who may see a page; a wrong password is answered at once."""
    failed = Instruments().counter("failed", "", "listener", "mechanism")
    return PageAccess(password, PasswordDelays(LoopClock(), 0, failed, PeerLogLimit(LoopClock())))


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
