"""Records of one partition, as a consumer with read_committed sees them.

One answer at a time reads them. A worker thread decompresses them and cuts values to their beginning.
"""

import asyncio
import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...network.page.page_query import PageQuery, QueryFault
from ...protocol.errors import RecordTooLarge
from ...protocol.messages.fetch import AbortedTransaction
from ...protocol.records.layout import TimestampType
from ...protocol.records.record import Record
from ...protocol.records.visible_records import visible_records
from ...storage.files.file_slice import FileSlice
from ..metadata.partition import READ_COMMITTED, Partition

if TYPE_CHECKING:
    from ..services import Services

SLICE_BYTES = 262_144
MOST_SLICES = 16
"""The most slices for one answer; if they have too few records, the answer is short and says where to continue."""
MOST_FIELD_BYTES = 16_384
MOST_TOTAL_BYTES = 262_144
MOST_OPENED_BYTES = 64 << 20
"""The most decompressed bytes of a batch: a few kilobytes may open to 256 MiB, in memory that no budget counts."""
MOST_HEADERS = 50
MOST_PARTITION = 2**31 - 1


class RecordReading:
    """The view of records."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._one_at_a_time = asyncio.Lock()

    async def show(self, query: PageQuery) -> dict[str, Any]:
        """Records of `topic` and `partition` from `offset` on, or from the time `time`, or else the last ones: of all,
        or of those before the offset `before`.

        Raises: QueryFault, ApiError UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE, NOT_LEADER_OR_FOLLOWER,
        MESSAGE_TOO_LARGE.
        """
        partition = self._services.cluster.partition(
            query.need("topic"), query.number("partition", 0, most=MOST_PARTITION)
        )
        limit = query.limit
        async with self._one_at_a_time:
            end = partition.visible_end_offset(READ_COMMITTED)
            start = await _find_start_offset(self._services, partition, query, end)
            if start is None:
                start, rows, position = await self._read_last(partition, min(end, query.number("before", end)), limit)
            else:
                rows, position = await self._read(partition, start, end, limit)
        return {
            "rows": rows,
            "first": start,
            "next": position if position < end else None,
            "position": position,
            "start_offset": partition.log.log_start_offset,
            "end_offset": end,
        }

    async def _read_last(self, partition: Partition, end: int, limit: int) -> tuple[int, list[dict[str, Any]], int]:
        """Returns where it began, rows below `end`, and the offset after them.

        It begins `limit` offsets before `end`, or further back if those have no records.
        """
        span = limit
        while True:
            log_start = partition.log.log_start_offset
            start = max(log_start, end - span)
            rows, position = await self._read(partition, start, end, limit)
            if rows or start == log_start:
                return start, rows, position
            span *= 2

    async def _read(
        self, partition: Partition, position: int, end: int, limit: int
    ) -> tuple[list[dict[str, Any]], int]:
        """Returns rows below `end`, and the offset after them."""
        services = self._services
        rows: list[dict[str, Any]] = []
        room = MOST_TOTAL_BYTES
        for _ in range(MOST_SLICES):
            visible_end = partition.visible_end_offset(READ_COMMITTED)  # `end` may be within a batch
            found = partition.log.read(position, SLICE_BYTES, below=visible_end, min_one_message=True)
            if not found.size_bytes:
                break
            aborted = [
                AbortedTransaction(producer_id=producer_id, first_offset=first)
                for producer_id, first in partition.log.aborted_transactions(position, found)
            ]
            with await services.conversion_budget.claim(found.size_bytes):
                more, position, room = await services.run_in_worker(
                    _decode, found, aborted, position, end, limit - len(rows), room
                )
            rows += more
            if len(rows) >= limit or room <= 0 or position >= end:
                break
        return rows, position


async def _find_start_offset(services: "Services", partition: Partition, query: PageQuery, end: int) -> int | None:
    """None: the last records are asked for."""
    given = [name for name in ("offset", "time", "before") if query.text(name)]
    if len(given) > 1:
        raise QueryFault(f"{' and '.join(given)} are given, one of them is meant")
    if query.text("offset"):
        return query.number("offset", 0)
    if query.text("time"):
        found = await services.find_offset_by_time(partition.log, query.number("time", 0))
        return end if found is None else min(found.offset, end)
    return None


def _decode(
    found: FileSlice, aborted: Sequence[AbortedTransaction], position: int, end: int, limit: int, room: int
) -> tuple[list[dict[str, Any]], int, int]:
    """Returns rows of at most `room` bytes, the offset after them, and the room that is left. For a worker thread."""
    rows: list[dict[str, Any]] = []
    data = memoryview(found.read(0, found.size_bytes))
    try:
        for following, record in visible_records(data, position, aborted, MOST_OPENED_BYTES):
            if record is not None:
                if record.offset >= end:
                    position = max(position, end)
                    break
                row, size = _make_row(record)
                rows.append(row)
                room -= size
            position = following
            if len(rows) >= limit or room <= 0:
                break
    except RecordTooLarge:
        if not rows:
            raise RecordTooLarge(
                f"the batch at offset {position} opens to more than {MOST_OPENED_BYTES >> 20} MiB, which is not shown; "
                "see `stepdown consume`, or ask for a later offset"
            ) from None
        room = 0  # these are shown; the next answer says why there are no more
    return rows, position, room


def _make_row(record: Record) -> tuple[dict[str, Any], int]:
    """A row and how many bytes of the record are in it."""
    headers = [{"key": key[:200], "value": _describe_field(value)} for key, value in record.headers[:MOST_HEADERS]]
    row = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": "append" if record.timestamp_type is TimestampType.LOG_APPEND_TIME else "create",
        "key": _describe_field(record.key),
        "value": _describe_field(record.value),
        "headers": headers,
        "header_count": len(record.headers),
    }
    fields = (record.key, record.value, *(value for _, value in record.headers[:MOST_HEADERS]))
    return row, 100 + sum(min(len(field), MOST_FIELD_BYTES) for field in fields if field is not None)


def _describe_field(field: bytes | memoryview | None) -> dict[str, Any] | None:
    """The size of a key or value and its first bytes: as text where they are UTF-8, else in base64."""
    if field is None:
        return None
    first = bytes(field[:MOST_FIELD_BYTES])
    is_whole = len(first) == len(field)
    shown: dict[str, Any] = {"size": len(field), "is_whole": is_whole}
    try:
        return shown | {"text": first.decode()}
    except UnicodeDecodeError as fault:
        if not is_whole and fault.start >= len(first) - 3:  # a character was cut
            return shown | {"text": first[: fault.start].decode()}
        return shown | {"base64": base64.b64encode(first).decode()}
