"""The rules for appended records that follow from the settings of a topic."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...config.settings import TopicSettings
from ...protocol.records.layout import Codec
from ...storage.validation.append_rules import AppendRules

if TYPE_CHECKING:
    from ..metadata.image import Topic

LOG_APPEND_TIME = "LogAppendTime"


def append_rules_of(settings: TopicSettings, max_decompressed_bytes: int) -> AppendRules:
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


class AppendRulesByTopic:
    """The rules of each topic, made again when its settings change."""

    def __init__(self, max_decompressed_bytes: int) -> None:
        self._max_decompressed_bytes = max_decompressed_bytes
        self._known: dict[str, tuple[TopicSettings, AppendRules]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def rules_of(self, topic: "Topic") -> AppendRules:
        settings = topic.settings
        known = self._known.get(topic.name)
        if known is None or known[0] is not settings:
            known = self._known[topic.name] = (settings, append_rules_of(settings, self._max_decompressed_bytes))
        return known[1]

    def forget(self, topics: "Sequence[Topic]") -> None:
        """Drops the rules of deleted topics, so that names cannot pile up."""
        for topic in topics:
            self._known.pop(topic.name, None)
