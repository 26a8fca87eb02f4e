"""The rules for appended records that follow from the settings of a topic."""

from ...config.settings import TopicSettings
from ...protocol.records.layout import Codec
from ...storage.validation.append_rules import AppendRules

LOG_APPEND_TIME = "LogAppendTime"


def make_append_rules(settings: TopicSettings, max_decompressed_bytes: int) -> AppendRules:
    """The rules that these settings make for appended records."""
    return AppendRules(
        max_message_bytes=settings.max_message_bytes,
        codec=_codec_of(settings.compression_type),
        gzip_level=settings.compression_gzip_level,
        lz4_level=settings.compression_lz4_level,
        zstd_level=settings.compression_zstd_level,
        stamps_append_time=settings.message_timestamp_type == LOG_APPEND_TIME,
        timestamp_before_max_ms=settings.message_timestamp_before_max_ms,
        timestamp_after_max_ms=settings.message_timestamp_after_max_ms,
        compacted=settings.is_compacted,
        max_decompressed_bytes=max_decompressed_bytes,
    )


def _codec_of(compression_type: str) -> Codec | None:
    if compression_type == "producer":
        return None
    return Codec.NONE if compression_type == "uncompressed" else Codec[compression_type.upper()]
