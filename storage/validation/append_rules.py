"""The rules one topic lays on what is appended to it, and the choice of how a record set gets into the log.

Source: `LogValidator.validateMessagesAndAssignOffsets` of Kafka 3.9 with target magic 2, the only magic a log has taken
since inter.broker.protocol.version 3.0. The choice is a small table that can be printed:

    python -c "from stepdown.storage.validation.append_rules import path_table; print(path_table())"
"""

from dataclasses import dataclass
from enum import Enum
from itertools import product

from ...protocol.records.layout import Codec, TimestampType

NO_LIMIT_MS = (1 << 63) - 1
DEFAULT_MAX_MESSAGE_BYTES = 1048588
DEFAULT_MAX_DECOMPRESSED_BYTES = 256 << 20


class Path(Enum):
    """How a record set becomes batches of the log."""

    IN_PLACE = "in place, uncompressed"
    IN_PLACE_COMPRESSED = "in place, compressed"
    CONVERT = "convert to one uncompressed batch"
    REBUILD = "rebuild into one batch of the target codec"


@dataclass(frozen=True, slots=True)
class Shape:
    """What the choice of a path looks at."""

    source_compressed: bool
    target_compressed: bool
    same_codec: bool
    magic_2: bool
    control: bool


def choose(shape: Shape) -> Path:
    """The path for a record set, before its records have been looked at.

    `IN_PLACE_COMPRESSED` may still become `REBUILD`: some clients number the records inside a batch wrongly, and Kafka
    has always rewritten those batches instead of refusing them.
    """
    if not shape.source_compressed and not shape.target_compressed:
        return Path.IN_PLACE if shape.magic_2 else Path.CONVERT
    if shape.control and not shape.source_compressed:
        return Path.IN_PLACE
    return Path.IN_PLACE_COMPRESSED if shape.same_codec and shape.magic_2 else Path.REBUILD


def path_table() -> str:
    """The choice for every shape that exists, one line each."""
    lines = ["source     target     codec    magic control path"]
    for source, target, same, magic_2, control in product((False, True), repeat=5):
        possible = same == (source == target) or (source and target)
        if not possible or (control and not magic_2):
            continue
        shape = Shape(source, target, same, magic_2, control)
        names = ("compressed" if source else "plain", "compressed" if target else "plain", "same" if same else "other")
        line = "{:<10} {:<10} {:<8}".format(*names)
        lines.append(f"{line} {'2' if magic_2 else '0, 1':<5} {'yes' if control else 'no':<7} {choose(shape).value}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRules:
    """What a topic asks of appended records: sizes in bytes, times in milliseconds, `NO_LIMIT_MS` for no limit.

    `codec` None keeps the producer's codec (compression.type=producer). `max_decompressed_bytes` bounds what one batch
    may open to, so that a small request cannot take a large amount of memory or time.
    """

    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    codec: Codec | None = None
    gzip_level: int = -1
    lz4_level: int = 9
    zstd_level: int = 3
    stamps_append_time: bool = False
    timestamp_before_max_ms: int = NO_LIMIT_MS
    timestamp_after_max_ms: int = NO_LIMIT_MS
    compacted: bool = False
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES

    def target(self, source: Codec) -> Codec:
        """The codec of the batch in the log when the producer used `source`."""
        return source if self.codec is None else self.codec

    def level(self, codec: Codec) -> int | None:
        """The level to compress with; None is the codec's default. A producer's own codec has no level set for it."""
        if self.codec is None:
            return None
        return {Codec.GZIP: self.gzip_level, Codec.LZ4: self.lz4_level, Codec.ZSTD: self.zstd_level}.get(codec)

    def accepts(self, timestamp: int, now_ms: int) -> bool:
        """Whether a record with this create time may be appended now; a record without one (-1) always may."""
        if timestamp == -1:
            return True
        too_old = self.timestamp_before_max_ms != NO_LIMIT_MS and now_ms - timestamp > self.timestamp_before_max_ms
        too_new = self.timestamp_after_max_ms != NO_LIMIT_MS and timestamp - now_ms > self.timestamp_after_max_ms
        return not (too_old or too_new)

    def accept_span(self, oldest: int, newest: int, now_ms: int) -> bool:
        """Whether all records between these create times may be appended now; always under LogAppendTime."""
        if self.timestamp_before_max_ms == self.timestamp_after_max_ms == NO_LIMIT_MS or self.stamps_append_time:
            return True
        return self.accepts(oldest, now_ms) and self.accepts(newest, now_ms)

    def describe_timestamp(self, timestamp: int, now_ms: int) -> str:
        """Why `accepts` says no."""
        return (
            f"timestamp {timestamp} is not between {now_ms - self.timestamp_before_max_ms}"
            f" and {now_ms + self.timestamp_after_max_ms}"
        )

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.stamps_append_time else TimestampType.CREATE_TIME
