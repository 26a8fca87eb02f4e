"""The rules of one topic for appended records."""

from dataclasses import dataclass, field

from ...protocol.records.layout import Codec, TimestampType

NO_LIMIT_MS = (1 << 63) - 1
DEFAULT_MAX_MESSAGE_BYTES = 1048588
DEFAULT_MAX_DECOMPRESSED_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRules:
    """A topic's limits for appended records: sizes in bytes, times in milliseconds, `NO_LIMIT_MS` for no limit.

    `codec`: None keeps the producer's codec (compression.type=producer). `max_decompressed_bytes`: the largest
    decompressed size of a batch, so that a small request cannot take much memory or time. `limits_create_time`: records
    may be refused for their timestamps.
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
    limits_create_time: bool = field(init=False)

    def __post_init__(self) -> None:
        has_limit = min(self.timestamp_before_max_ms, self.timestamp_after_max_ms) < NO_LIMIT_MS
        object.__setattr__(self, "limits_create_time", has_limit and not self.stamps_append_time)

    def codec_for(self, source: Codec) -> Codec:
        """The codec in which a batch is stored that the producer compressed with `source`."""
        return source if self.codec is None else self.codec

    def compression_level(self, codec: Codec) -> int | None:
        """The compression level; None, the default of the codec, if the producer's codec is kept."""
        if self.codec is None:
            return None
        return {Codec.GZIP: self.gzip_level, Codec.LZ4: self.lz4_level, Codec.ZSTD: self.zstd_level}.get(codec)

    def accepts_timestamp(self, timestamp: int, now_ms: int) -> bool:
        """Whether a record with this create time may be appended now; always True without one (-1)."""
        if timestamp == -1:
            return True
        too_old = self.timestamp_before_max_ms != NO_LIMIT_MS and now_ms - timestamp > self.timestamp_before_max_ms
        too_new = self.timestamp_after_max_ms != NO_LIMIT_MS and timestamp - now_ms > self.timestamp_after_max_ms
        return not (too_old or too_new)

    def accepts_timestamp_span(self, oldest: int, newest: int, now_ms: int) -> bool:
        """Whether all records between these create times may be appended now; always True under LogAppendTime."""
        if not self.limits_create_time:
            return True
        return self.accepts_timestamp(oldest, now_ms) and self.accepts_timestamp(newest, now_ms)

    def describe_refused_timestamp(self, timestamp: int, now_ms: int) -> str:
        """The reason why `accepts_timestamp` returned False."""
        return (
            f"timestamp {timestamp} is not between {now_ms - self.timestamp_before_max_ms}"
            f" and {now_ms + self.timestamp_after_max_ms}"
        )

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.stamps_append_time else TimestampType.CREATE_TIME
