"""The results of the loops that return five values and more."""

from typing import NamedTuple


class UncompressedDownResult(NamedTuple):
    """What `convert_plain` did. `at`: the position reached. `written`: the bytes in the buffer. `left_out`: records
    before the first offset. `temporary_bytes`: Kafka's temporaryMemoryBytes. `needs_codec`: of the next batch."""

    at: int
    written: int
    batches: int
    records: int
    left_out: int
    temporary_bytes: int
    needs_codec: bool


class ConvertedUp(NamedTuple):
    """The records that messages became. `last_offset`: of the messages; `base_timestamp`: of the first record.

    `oldest` and `newest` leave out records without a timestamp, and are -1 if none has one. `keyless`: at least one has
    no key. Both sizes are of uncompressed bytes: of the messages, and of the records.
    """

    record_count: int
    last_offset: int
    base_timestamp: int
    oldest: int
    newest: int
    keyless: bool
    read_bytes: int
    written_bytes: int
