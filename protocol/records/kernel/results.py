"""The results of the loops that return five values and more."""

from typing import NamedTuple


class UncompressedDownResult(NamedTuple):
    """What `convert_plain` did: the position that it reached, the bytes in the buffer up to there, batches passed,
    records converted and left out, bytes that Kafka counts as temporary, and whether a codec is needed to go on."""

    at: int
    written: int
    batches: int
    records: int
    left_out: int
    temporary_bytes: int
    needs_codec: bool


class MessagesUpResult(NamedTuple):
    """What `MessagesUp` read and wrote. `oldest` and `newest` leave out messages without a timestamp, and are -1 if
    none has one. `keyless`: at least one has no key."""

    messages: int
    last_offset: int
    base_timestamp: int
    oldest: int
    newest: int
    keyless: bool
    read_bytes: int
    written_bytes: int
