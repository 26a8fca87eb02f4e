"""Converts messages of magic 0 and 1, plain or in a wrapper, to the records of one v2 batch (Kafka 3.9, LogValidator).

Records are numbered 0, 1, 2 ...; their timestamps count from the first one's, which is -1 for magic 0. A wrapper of
LogAppendTime gives its timestamp to all messages inside it. Memory holds one piece of the stream and one message of up
to 1 MiB at a time.
"""

from collections.abc import Sequence
from functools import partial

from ...errors import InvalidRecord
from .. import kernel
from ..compression.codecs import decompress_in_chunks
from ..kernel.results import ConvertedUp
from ..layout import MAGIC_V1, MAX_OPENED_BYTES, TimestampType
from ..legacy_batch import LegacyBatch
from .large_message_in_pieces import convert_message_up
from .record_stream import RecordStream, Write, run_loop


def convert_up(
    batches: Sequence[LegacyBatch], write: Write, *, max_opened_bytes: int = MAX_OPENED_BYTES
) -> ConvertedUp:
    """Passes the records to `write` in pieces that are valid until it returns; returns a summary of them.

    `batches` are plain messages of one magic, whose checksums are taken for verified, or a single wrapper, whose inner
    checksums are verified.

    Raises: CorruptRecord for a wrong checksum or frame; InvalidRecord for a broken message, one of another magic, a
    compressed one inside a wrapper, or a wrong wrapper offset; RecordTooLarge above `max_opened_bytes`.
    """
    wrapper = batches[0]
    if not wrapper.is_compressed:
        up = kernel.MessagesUp(wrapper.magic, False, None)
        run_loop(RecordStream(batch.data for batch in batches), up, write)
        return up.summary()
    if len(batches) > 1:
        raise InvalidRecord(f"{len(batches)} messages where a compressed one stands alone")
    _, value = wrapper.key_and_value()
    if value is None:
        raise InvalidRecord(f"the wrapper at offset {wrapper.last_offset} has no value")
    marked = wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME
    up = kernel.MessagesUp(wrapper.magic, True, wrapper.max_timestamp if marked else None)
    pieces = RecordStream(decompress_in_chunks(wrapper.codec, value, magic=wrapper.magic, max_bytes=max_opened_bytes))
    run_loop(pieces, up, write, giant=partial(convert_message_up, pieces, up, write, wrapper.magic))
    done = up.summary()
    if not done.record_count:
        raise InvalidRecord(f"the wrapper at offset {wrapper.last_offset} holds no message")
    if wrapper.magic == MAGIC_V1 and 0 < wrapper.last_offset < done.last_offset:
        raise InvalidRecord(f"wrapper offset {wrapper.last_offset} below its last inner offset {done.last_offset}")
    return done
