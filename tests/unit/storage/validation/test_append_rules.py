import pytest
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.storage.validation.append_rules import NO_LIMIT_MS, AppendRules

NOW = 1_700_000_000_000


def test_producer_keeps_the_producers_codec_and_its_default_level() -> None:
    rules = AppendRules(gzip_level=9)
    assert rules.codec_for(Codec.GZIP) is Codec.GZIP
    assert rules.compression_level(Codec.GZIP) is None


def test_a_topic_with_a_codec_has_a_level_for_it() -> None:
    rules = AppendRules(codec=Codec.ZSTD, zstd_level=7)
    assert rules.codec_for(Codec.GZIP) is Codec.ZSTD
    assert rules.compression_level(Codec.ZSTD) == 7
    assert AppendRules(codec=Codec.SNAPPY).compression_level(Codec.SNAPPY) is None


@pytest.mark.parametrize(
    ("timestamp", "accepted"),
    [(NOW - 100, True), (NOW - 101, False), (NOW + 10, True), (NOW + 11, False), (-1, True)],
)
def test_the_limits_themselves_are_accepted(timestamp: int, accepted: bool) -> None:
    rules = AppendRules(timestamp_before_max_ms=100, timestamp_after_max_ms=10)
    assert rules.accepts_timestamp(timestamp, NOW) is accepted


@pytest.mark.parametrize("timestamp", [-(1 << 63), 0, (1 << 63) - 1])
def test_without_limits_any_timestamp_is_accepted(timestamp: int) -> None:
    assert AppendRules(timestamp_before_max_ms=NO_LIMIT_MS).accepts_timestamp(timestamp, NOW)


def test_log_append_time_is_a_timestamp_type() -> None:
    assert AppendRules(stamps_append_time=True).timestamp_type is TimestampType.LOG_APPEND_TIME
    assert AppendRules().timestamp_type is TimestampType.CREATE_TIME
