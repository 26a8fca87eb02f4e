"""Comparing two brokers' answers to the same fetch."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from .clients_raw import FetchAnswer, FetchAsk, Raw, fetch_request, read_fetch_response
from .kafka_sets import CODECS, ReadBatch, read_sets

# What stepdown sends to v0-v2 where no whole batch fits the limit; Kafka since 3.0 sends nothing.
TOO_LARGE = bytes.fromhex("ffffffffffffffff0000003d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A v2 batch as it lies in the log, known by its header."""

    base_offset: int
    last_offset: int
    size_bytes: int
    codec: str
    is_control: bool


class Pair(Protocol):
    """A connection to Kafka and one to the broker under test."""

    @property
    def kafka(self) -> Raw: ...
    @property
    def ours(self) -> Raw: ...


def fetch_offsets(client: Raw, topic: str) -> list[int]:
    """Return offsets worth fetching from: the ends, what is next to them, and some between."""
    start, end = client.end_offset(topic, timestamp=-2), client.end_offset(topic)
    step = max((end - start) // 8, 1)
    wanted = {start, start + 1, start + 3, end - 2, end - 1, end, *range(start, end, step)}
    return sorted(offset for offset in wanted if start <= offset <= end)


def stored_batches(client: Raw, topic: str) -> list[Stored]:
    """Return the headers of all batches of partition 0, which has to be all magic 2."""
    found: list[Stored] = []
    offset, end = 0, client.end_offset(topic)
    while offset < end:
        data = client.fetch(4, [FetchAsk(topic=topic, offset=offset, max_bytes=1 << 24)])[0].records or b""
        assert data, f"nothing at {offset} of {end}"
        found += _headers(data)
        offset = found[-1].last_offset + 1
    return found


def _headers(data: bytes) -> Iterator[Stored]:
    at = 0
    while at < len(data):
        base, length, _, magic, _, attributes, last_delta = struct.unpack_from(">qiibIhi", data, at)
        assert magic == 2
        yield Stored(
            base_offset=base,
            last_offset=base + last_delta,
            size_bytes=length + 12,
            codec=CODECS[attributes & 7],
            is_control=bool(attributes & 0x20),
        )
        at += length + 12


def same_answers(pair: Pair, version: int, asks: Sequence[FetchAsk], *, isolation: int = 0) -> None:
    """Ask both and hold the answers against each other, partition by partition."""
    frame = fetch_request(version, asks, isolation=isolation)
    kafka, ours = pair.kafka.exchange(frame), pair.ours.exchange(frame)
    if kafka == ours:
        return
    pairs = zip(read_fetch_response(version, kafka), read_fetch_response(version, ours), strict=True)
    for theirs, mine in pairs:
        difference = differs(version, theirs, mine)
        assert difference is None, f"Fetch v{version} of {asks}: {difference}"


def differs(version: int, theirs: FetchAnswer, mine: FetchAnswer) -> str | None:
    """Return in what two answers for a partition differ, or None."""
    if _frame(theirs) != _frame(mine):
        return f"Kafka answers {_frame(theirs)}, we {_frame(mine)}"
    if theirs.records == mine.records or (version <= 2 and (theirs.records, mine.records) == (b"", TOO_LARGE)):
        return None
    their_batches, my_batches = read_sets(theirs.records or b""), read_sets(mine.records or b"")
    if not any(batch.codec != "none" for batch in (*their_batches, *my_batches)):
        return f"plain records differ {_first_difference(theirs.records or b'', mine.records or b'')}"
    return _batches_differ(their_batches, my_batches)


def _frame(answer: FetchAnswer) -> tuple[object, ...]:
    return (
        answer.topic,
        answer.partition,
        answer.error,
        answer.high_watermark,
        answer.last_stable_offset,
        answer.aborted,
        answer.records is None,
    )


def _batches_differ(theirs: Sequence[ReadBatch], mine: Sequence[ReadBatch]) -> str | None:
    """Compare what both have; one may be cut earlier, as it was made by another codec library, but not empty."""
    if bool(theirs) != bool(mine):
        return f"Kafka's answer has {len(theirs)} whole batches, ours {len(mine)}"
    for index, (one, other) in enumerate(zip(theirs, mine, strict=False)):
        if one != other:
            return f"batch {index}: Kafka's is {_short(one)}, ours {_short(other)}"
    return None


def _first_difference(one: bytes, other: bytes) -> str:
    pairs = zip_longest(one, other)
    at = next(index for index, (left, right) in enumerate(pairs) if left != right)
    return f"at byte {at} of {len(one)} and {len(other)}: {one[at : at + 24].hex()} and {other[at : at + 24].hex()}"


def _short(batch: ReadBatch) -> str:
    text = repr(batch)
    return text if len(text) < 600 else f"{text[:600]} …"
