"""How fast does the kernel convert record batches down, and what is each part of it worth?

Prints megabytes of stored batches per second of CPU, and the ratio to aiokafka's compiled record classes on the same
bytes in the same run; then the kernel's checksums against zlib's and the crc32c package's; then batches that need a
codec, per byte stored and per byte opened.

    python bench/questions/downconversion_speed.py
"""

import binascii
import random
import time
from collections.abc import Callable
from functools import partial

import crc32c
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from stepdown.protocol.records import kernel
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.layout import Codec
from stepdown.protocol.records.record import Record

CHUNK_BYTES = 128 * 1024
BATCH_BYTES = 16 * 1024
SECONDS = 0.3
REPEATS = 5


def seconds_of_cpu(work: Callable[[], object]) -> float:
    """Return what one call takes: the best of some runs of many calls."""
    calls = 1
    while True:
        began = time.process_time()
        for _ in range(calls):
            work()
        if time.process_time() - began > SECONDS / 10:
            break
        calls *= 2
    best = float("inf")
    for _ in range(REPEATS):
        began = time.process_time()
        for _ in range(calls):
            work()
        best = min(best, (time.process_time() - began) / calls)
    return best


def text(size: int) -> bytes:
    """Return words that compress about as log lines do."""
    chooser = random.Random(1)
    words = [bytes(chooser.choices(b"abcdefghijklmnopqrstuvwxyz", k=chooser.randint(3, 9))) for _ in range(3000)]
    return b" ".join(chooser.choices(words, k=size // 4))[:size]


def chunk(record_bytes: int, codec: Codec = Codec.NONE) -> tuple[bytes, int]:
    """Return a chunk of batches as a log holds them, and what its values take uncompressed."""
    words = text(CHUNK_BYTES)
    count = max(1, BATCH_BYTES // record_bytes)
    values = [words[n * record_bytes % CHUNK_BYTES :][:record_bytes] for n in range(count)]
    records = [Record(offset=n, timestamp=1_700_000_000_000 + n, value=value) for n, value in enumerate(values)]
    batch = build_batch(records, codec=codec)
    batches = max(1, CHUNK_BYTES // len(batch))
    return batch * batches, batches * sum(map(len, values))


def by_aiokafka(source: bytes, magic: int) -> None:
    """Convert as a client library would: records out of one class, into another."""
    at = 0
    while at < len(source):
        size = int.from_bytes(source[at + 8 : at + 12], "big") + 12
        batch = DefaultRecordBatch(bytearray(source[at : at + size]))
        builder = LegacyRecordBatchBuilder(magic, 0, 1 << 30)
        if not batch.validate_crc():
            raise ValueError("checksum")
        for record in batch:
            builder.append(record.offset, record.timestamp, record.key, record.value)
        builder.build()
        at += size


def plain() -> None:
    print(f"{'plain batches down':28}{'MB/s':>8}{'aiokafka':>10}{'ratio':>8}")
    out = bytearray(8 * CHUNK_BYTES)
    for magic in 1, 0:
        for record_bytes in 10, 100, 1000, 10_000:
            source, _ = chunk(record_bytes)
            ours = seconds_of_cpu(partial(kernel.convert_plain, source, 0, magic, 0, out))
            theirs = seconds_of_cpu(partial(by_aiokafka, source, magic))
            size = len(source) / 1e6
            name = f"  v2 to v{magic}, {record_bytes} B"
            print(f"{name:28}{size / ours:8.0f}{size / theirs:10.0f}{theirs / ours:8.1f}")


def checksums() -> None:
    print(f"{'checksums':28}{'MB/s':>8}{'library':>10}{'ratio':>8}")
    for name, ours, theirs in (("crc-32", kernel.crc32, binascii.crc32), ("crc-32c", kernel.crc32c, crc32c.crc32c)):
        for size in 1000, CHUNK_BYTES:
            data = bytes(size)
            mine, library = (seconds_of_cpu(partial(f, data)) for f in (ours, theirs))
            label = f"  {name}, {size} B"
            print(f"{label:28}{size / 1e6 / mine:8.0f}{size / 1e6 / library:10.0f}{library / mine:8.1f}")


def convert_once(source: bytes) -> None:
    convert_down(source, target=1, first_offset=0, out=bytearray())


def compressed() -> None:
    print(f"{'compressed batches down':28}{'MB/s stored':>12}{'opened':>10}")
    for codec in Codec.LZ4, Codec.SNAPPY, Codec.GZIP:
        source, opened = chunk(1000, codec)
        taken = seconds_of_cpu(partial(convert_once, source))
        label = f"  {codec.name.lower()}, 1000 B"
        print(f"{label:28}{len(source) / 1e6 / taken:12.0f}{opened / 1e6 / taken:10.0f}")


if __name__ == "__main__":
    plain()
    checksums()
    compressed()
