"""Record sets with bytes turned over behind right checksums: each is taken or refused, and nothing else happens."""

import random
import tracemalloc

import pytest
from stepdown.protocol.errors import ApiError
from stepdown.protocol.records import kernel
from stepdown.protocol.records.batch import RecordBatch
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.layout import ATTRIBUTES_OFFSET, CRC_OFFSET, LEGACY_CRC_OFFSET, MAGIC_OFFSET, Codec
from stepdown.protocol.records.record import Record
from stepdown.storage.validation.append_rules import AppendRules
from stepdown.storage.validation.record_sets import check_version, prepare, prepare_inline
from support.record_sets import NOW, inputs

ROUNDS = 300
TOPICS = [
    AppendRules(max_decompressed_bytes=1 << 20),
    AppendRules(codec=Codec.GZIP, max_decompressed_bytes=1 << 20),
    AppendRules(codec=Codec.NONE, compacted=True, timestamp_before_max_ms=1000, max_decompressed_bytes=1 << 20),
]
# Memory that a refused set of a few hundred bytes may take; codecs have windows and tables of their own.
MAX_PEAK_BYTES = 8 << 20


def _mutated(data: bytes, chance: random.Random) -> bytes:
    """Up to four bytes changed behind the frame, sometimes the end cut off, the outer checksum made right again."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(MAGIC_OFFSET, len(changed))
        changed[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, changed[at] ^ (1 << chance.randrange(8))])
    if chance.random() < 0.1:
        del changed[chance.randrange(MAGIC_OFFSET, len(changed)) :]
        if len(changed) > MAGIC_OFFSET:
            changed[8:12] = (len(changed) - 12).to_bytes(4, "big")
    if len(changed) <= CRC_OFFSET + 4:
        return bytes(changed)
    if changed[MAGIC_OFFSET] == 2:
        changed[CRC_OFFSET : CRC_OFFSET + 4] = kernel.crc32c(changed[ATTRIBUTES_OFFSET:]).to_bytes(4, "big")
    else:
        checksum = kernel.crc32(changed[MAGIC_OFFSET:])
        changed[LEGACY_CRC_OFFSET : LEGACY_CRC_OFFSET + 4] = checksum.to_bytes(4, "big")
    return bytes(changed)


def _append(data: bytes, rules: AppendRules, api_version: int) -> list[Record]:
    """The records that the log would have; none for a refused set."""
    records = memoryview(data)
    try:
        check_version(records, api_version)
        soon = prepare_inline(records, rules, now_ms=NOW)
        prepared = prepare(records, rules, now_ms=NOW)
        assert soon in (None, prepared)
    except ApiError as refusal:
        assert refusal.code > 0
        return []
    written = []
    if not prepared.head:
        return written
    for batch in iter_batches(b"".join(prepared.pieces(1000, 0))):
        assert isinstance(batch, RecordBatch)
        batch.ensure_valid()
        written += list(batch.records())
    assert len(written) == prepared.record_count
    return written


@pytest.mark.parametrize("rules", TOPICS, ids=["producer", "gzip", "plain and strict"])
@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD], ids=lambda c: c.name)
def test_a_set_with_changed_bytes_is_taken_whole_or_refused(magic: int, codec: Codec, rules: AppendRules) -> None:
    if codec is Codec.ZSTD and magic < 2:
        return
    chance = random.Random(f"{magic} {codec} {rules.codec}")
    sets = [data for data in inputs(magic, codec).values() if len(data) > MAGIC_OFFSET + 1]
    tracemalloc.start()
    try:
        for _ in range(ROUNDS):
            _append(_mutated(chance.choice(sets), chance), rules, chance.choice([0, 2, 3, 7, 11]))
        assert tracemalloc.get_traced_memory()[1] < MAX_PEAK_BYTES
    finally:
        tracemalloc.stop()
