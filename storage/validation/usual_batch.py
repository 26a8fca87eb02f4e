"""Fast path for a record set of one valid v2 batch, which is appended unchanged.

One pass over the decompressed records checks that nothing is wrong and nothing has to be changed. Any other record set,
and one that decompresses to too much, takes the checks of `record_sets.py`, which name the fault.
"""

import threading
from functools import cached_property
from typing import Final

from ...protocol.errors import InvalidRecord
from ...protocol.records.compression.codecs import AT_ONCE_BYTES, at_once_functions
from ...protocol.records.kernel import BlockDecompressor, validate_and_survey, validate_and_survey_blocks
from ...protocol.records.layout import (
    CODEC_MASK,
    LOG_OVERHEAD,
    LOW_ATTRIBUTES_OFFSET,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_BIT,
    Codec,
)
from ...protocol.records.record import Buffer
from ...protocol.records.v2_header import APPENDED
from .append_rules import AppendRules
from .prepared_append import AppendOrigin, PreparedAppend

BLOCK_CODECS = frozenset(map(int, (Codec.LZ4, Codec.SNAPPY)))


class _BatchTables(threading.local):
    """The tables of each thread, made at their first use."""

    @cached_property
    def blocks(self) -> BlockDecompressor:
        return BlockDecompressor()


_kept: Final = _BatchTables()


def prepare_usual(
    records: memoryview, rules: AppendRules, now_ms: int, origin: AppendOrigin, most_decompressed: int
) -> PreparedAppend | None:
    """The append of a record set that is one valid batch and stays unchanged; None for any other.

    Also None for a batch that decompresses to more than `most_decompressed` bytes, or 128 KiB with gzip and zstd.
    """
    size = len(records)
    if size <= RECORD_BATCH_OVERHEAD:
        return None
    (base_offset, batch_size, magic, last_offset_delta, producer_id, producer_epoch, base_sequence, count) = (
        APPENDED.unpack_from(records)
    )
    if magic != MAGIC_V2 or batch_size != size - LOG_OVERHEAD:
        return None
    attributes = records[LOW_ATTRIBUTES_OFFSET]
    codec = attributes & CODEC_MASK
    if (rules.codec is not None and rules.codec != codec) or rules.stamps_append_time or size > rules.max_message_bytes:
        return None
    body, opened_bytes = records[RECORD_BATCH_OVERHEAD:], 0
    if codec in BLOCK_CODECS:
        found = validate_and_survey_blocks(records, _kept.blocks, min(most_decompressed, rules.max_decompressed_bytes))
        if found is None:
            return None
        oldest, newest, keyless, opened_bytes = found
    else:
        opened = None
        if codec:
            opened = _decompress_at_once(codec, body, rules)
            if opened is None:
                return None
            opened_bytes = len(opened)
        seen = validate_and_survey(records, opened)
        if seen is None:
            return None
        oldest, newest, keyless = seen
    if keyless and rules.compacted:
        return None
    if rules.limits_create_time and not rules.accepts_timestamp_span(oldest, newest, now_ms):
        return None
    if origin is AppendOrigin.CLIENT and (base_offset != 0 or (base_sequence < 0 <= producer_id)):
        return None
    return PreparedAppend(
        bytes(records[:RECORD_BATCH_OVERHEAD]),
        body,
        count,
        last_offset_delta,
        newest,
        producer_id,
        producer_epoch,
        base_sequence,
        attributes & TRANSACTIONAL_BIT != 0,
        origin,
        size,
        RECORD_BATCH_OVERHEAD + opened_bytes if codec else 0,
    )


def _decompress_at_once(codec: int, body: memoryview, rules: AppendRules) -> Buffer | None:
    functions = at_once_functions(codec)
    if functions is None or len(body) > AT_ONCE_BYTES:
        return None
    try:
        return functions[0](body, min(AT_ONCE_BYTES, rules.max_decompressed_bytes))
    except InvalidRecord:  # raised again after the checksum was verified
        return None
