"""The one batch that nearly every produce request carries, which goes into a log as it was sent.

Plain, of magic 2, with nothing wrong in it and nothing to change: it takes one look to see that. What is anything else,
or wrong, is left to the checks of `append.py`, which go step by step and say what it is.
"""

from ...protocol.records.kernel import glance
from ...protocol.records.layout import ATTRIBUTES_OFFSET, BATCH_HEADER, RECORD_BATCH_OVERHEAD, TRANSACTIONAL_BIT
from .append_rules import AppendRules
from .prepared_append import AppendOrigin, PreparedAppend, PreparedBatch


def prepare_plain(records: memoryview, rules: AppendRules, now_ms: int, origin: AppendOrigin) -> PreparedAppend | None:
    """The append of a record set that is one plain batch without fault and stays as it is, None for any other."""
    size = len(records)
    if rules.codec or rules.stamps_append_time or size > rules.max_message_bytes:
        return None
    seen = glance(records)
    if seen is None:
        return None
    oldest, newest, keyless = seen
    if (keyless and rules.compacted) or not rules.accept_span(oldest, newest, now_ms):
        return None
    base_offset, _, _, _, _, _, last_offset_delta, _, _, producer_id, producer_epoch, base_sequence, count = (
        BATCH_HEADER.unpack_from(records)
    )
    if origin is AppendOrigin.CLIENT and (base_offset != 0 or (base_sequence < 0 <= producer_id)):
        return None
    batch = PreparedBatch(
        bytes(records[:RECORD_BATCH_OVERHEAD]),
        records[RECORD_BATCH_OVERHEAD:],
        count,
        last_offset_delta,
        newest,
        last_offset_delta,
        producer_id,
        producer_epoch,
        base_sequence,
        records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_BIT != 0,
    )
    return PreparedAppend((batch,), origin, count, size, size)
