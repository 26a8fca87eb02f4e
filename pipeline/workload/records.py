"""The records of a workload. They follow from the settings and the seed alone, so a run can be repeated anywhere.

Records are counted through all partitions. Those of one chunk of 4096 come from a generator of random numbers that is
seeded by the workload's seed and the chunk's number, so chunks can be made in any order and by anybody.

| what | how |
|---|---|
| value | a piece of a text of random words; gzip makes it about three times smaller |
| key | `null`; `uniform`: one of `distinct_keys`, all as likely; `zipf`: the n-th is n times rarer than the first |
| partition | null keys: in turn; others: crc32 of the key, so that a key stays where it is |
| timestamp | one millisecond more each record |
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Literal, NamedTuple, get_args
from zlib import crc32

from ...protocol.records.layout import Codec
from ...storage.files.file_names import fault_of_topic_name

Keys = Literal["null", "uniform", "zipf"]
KEYS: tuple[Keys, ...] = get_args(Keys)

CHUNK_RECORDS = 4096
START_MS = 1_700_000_000_000
_TEXT_BYTES = 1 << 20
_WORDS = 2000


class LoadRecord(NamedTuple):
    """A record and where it goes; `timestamp` in milliseconds since the epoch."""

    partition: int
    timestamp: int
    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is written. `batch_bytes` bounds keys and values of a batch before it is compressed.

    Raises: ValueError for what no producer can write.
    """

    records: int
    size: int = 1000
    topic: str = "workload"
    partitions: int = 1
    codec: Codec = Codec.NONE
    magic: int = 2
    keys: Keys = "null"
    distinct_keys: int = 10_000
    batch_bytes: int = 16_384
    seed: int = 0
    start_ms: int = START_MS

    def __post_init__(self) -> None:
        fault = fault_of_topic_name(self.topic)
        if fault is not None:
            raise ValueError(fault)
        if self.magic < 2 and self.codec is Codec.ZSTD:
            raise ValueError(f"magic {self.magic} has no zstd")
        for name in ("records", "size"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is below 0")
        for name in ("partitions", "distinct_keys", "batch_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is below 1")

    @property
    def chunk_numbers(self) -> range:
        """The numbers of all chunks."""
        return range(-(-self.records // CHUNK_RECORDS))

    def make_chunk(self, number: int) -> Iterator[LoadRecord]:
        """The records of one chunk, in their order."""
        first = number * CHUNK_RECORDS
        count = min(CHUNK_RECORDS, self.records - first)
        rng = random.Random(f"{self.seed}/{number}")
        text = _make_text(self.seed, max(_TEXT_BYTES, 2 * self.size))
        places = rng.choices(range(len(text) - self.size), k=count)
        for at, (place, key) in enumerate(zip(places, self._make_keys(rng, count), strict=True)):
            partition = (first + at if key is None else crc32(key)) % self.partitions
            yield LoadRecord(partition, self.start_ms + first + at, key, text[place : place + self.size])

    def _make_keys(self, rng: random.Random, count: int) -> Iterator[bytes | None]:
        if self.keys == "null":
            yield from (None for _ in range(count))
            return
        weights = _cumulative_zipf_weights(self.distinct_keys) if self.keys == "zipf" else None
        for number in rng.choices(range(self.distinct_keys), cum_weights=weights, k=count):
            yield b"key-%08d" % number


@cache
def _make_text(seed: int, size: int) -> bytes:
    rng = random.Random(f"{seed}/text")
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(_WORDS)]
    return " ".join(rng.choices(words, k=size // 3 + 1)).encode()[:size]


@cache
def _cumulative_zipf_weights(count: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, count + 1)))
