import pytest
from stepdown.protocol.records.layout import Codec, TimestampType
from stepdown.storage.validation.append_rules import NO_LIMIT_MS, AppendRules, Path, Shape, choose, path_table

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("source", "target", "magic_2", "path"),
    [
        (Codec.NONE, Codec.NONE, True, Path.IN_PLACE),
        (Codec.NONE, Codec.NONE, False, Path.CONVERT),
        (Codec.NONE, Codec.LZ4, True, Path.REBUILD),
        (Codec.NONE, Codec.LZ4, False, Path.REBUILD),
        (Codec.LZ4, Codec.NONE, True, Path.REBUILD),
        (Codec.LZ4, Codec.NONE, False, Path.REBUILD),
        (Codec.LZ4, Codec.GZIP, True, Path.REBUILD),
        (Codec.LZ4, Codec.LZ4, False, Path.REBUILD),
        (Codec.LZ4, Codec.LZ4, True, Path.IN_PLACE_COMPRESSED),
    ],
)
def test_codecs_and_magic_choose_the_path(source: Codec, target: Codec, magic_2: bool, path: Path) -> None:
    assert choose(Shape(source != 0, target != 0, source == target, magic_2, False)) is path


def test_a_plain_control_batch_is_never_compressed() -> None:
    assert choose(Shape(False, True, False, True, True)) is Path.IN_PLACE


def test_the_choice_can_be_printed() -> None:
    lines = path_table().splitlines()
    assert len(lines) == 16
    assert "compressed compressed same     2     no      in place, compressed" in lines


def test_producer_keeps_the_producers_codec_and_its_default_level() -> None:
    rules = AppendRules(gzip_level=9)
    assert rules.target(Codec.GZIP) is Codec.GZIP
    assert rules.level(Codec.GZIP) is None


def test_a_topic_with_a_codec_has_a_level_for_it() -> None:
    rules = AppendRules(codec=Codec.ZSTD, zstd_level=7)
    assert rules.target(Codec.GZIP) is Codec.ZSTD
    assert rules.level(Codec.ZSTD) == 7
    assert AppendRules(codec=Codec.SNAPPY).level(Codec.SNAPPY) is None


@pytest.mark.parametrize(
    ("timestamp", "accepted"),
    [(NOW - 100, True), (NOW - 101, False), (NOW + 10, True), (NOW + 11, False), (-1, True)],
)
def test_the_limits_themselves_are_accepted(timestamp: int, accepted: bool) -> None:
    rules = AppendRules(timestamp_before_max_ms=100, timestamp_after_max_ms=10)
    assert rules.accepts(timestamp, NOW) is accepted


@pytest.mark.parametrize("timestamp", [-(1 << 63), 0, (1 << 63) - 1])
def test_without_limits_any_timestamp_is_accepted(timestamp: int) -> None:
    assert AppendRules(timestamp_before_max_ms=NO_LIMIT_MS).accepts(timestamp, NOW)


def test_log_append_time_is_a_timestamp_type() -> None:
    assert AppendRules(stamps_append_time=True).timestamp_type is TimestampType.LOG_APPEND_TIME
    assert AppendRules().timestamp_type is TimestampType.CREATE_TIME
