"""What fetches by old clients would promise and hold, against the broker's own conversion."""

from pathlib import Path

import pytest
from stepdown.pipeline.census.downconversion_costs import CHUNK_BYTES, BatchCost, SegmentCostTask, segment_costs
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.protocol.records.batch_header import batch_headers_in
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.layout import Codec
from support.log_directories import keyed_records, write_batches, write_topic
from support.record_sets import patched


def census(log_dir: Path, *, magic: int = 1, fetch_bytes: int = 1 << 20, message_bytes: int = 1000) -> list[BatchCost]:
    (log,) = find_partition_logs(PlaceFiles(), str(log_dir))
    (segment,) = log.segments
    limits = {"fetch_bytes": fetch_bytes, "max_message_bytes": message_bytes}
    return list(segment_costs(SegmentCostTask(topic=log.topic, partition=0, segment=segment, magic=magic, **limits)))


def total(found: list[BatchCost], name: str) -> int:
    return sum(getattr(cost, name) or 0 for cost in found)


def stored(log_dir: Path) -> bytes:
    return next(log_dir.glob("*/*.log")).read_bytes()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=lambda codec: codec.name)
@pytest.mark.parametrize("magic", [0, 1])
def test_sizes_are_those_of_the_brokers_conversion(tmp_path: Path, codec: Codec, magic: int) -> None:
    write_topic(tmp_path, "topic", codec=codec, segments=1)
    found = census(tmp_path, magic=magic)
    source = stored(tmp_path)
    sent = convert_down(source, target=magic, first_offset=0, out=bytearray()).size_bytes
    assert (len(found), total(found, "stored_bytes"), total(found, "converted_bytes")) == (4, len(source), sent)
    assert [cost.promised_bytes for cost in found] == [len(source), None, None, None]
    assert (found[0].sent_bytes, found[0].padding_bytes) == (sent, max(0, len(source) - sent))
    assert any(cost.left_out for cost in found) == (sent > len(source))
    assert [cost.chunk_bytes for cost in found] == [len(source) + sent, None, None, None]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=lambda codec: codec.name)
def test_each_batch_has_its_sizes_where_it_lies(tmp_path: Path, codec: Codec) -> None:
    write_topic(tmp_path, "topic", codec=codec, segments=1)
    data = memoryview(stored(tmp_path))
    for cost, header in zip(census(tmp_path), batch_headers_in(data), strict=True):
        assert (cost.position, cost.base_offset, cost.stored_bytes) == (
            header.position,
            header.base_offset,
            header.size_bytes,
        )
        alone = convert_down(data[header.position : header.end], target=1, first_offset=0, out=bytearray())
        assert cost.converted_bytes == alone.size_bytes


def test_a_fetch_takes_one_batch_at_least(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    found = census(tmp_path, fetch_bytes=1)
    assert not any(cost.left_out for cost in found)
    # small records grow, and the first batch is promised whole
    assert [cost.promised_bytes for cost in found] == [cost.converted_bytes for cost in found]


def test_a_batch_that_its_fetch_does_not_get_is_marked(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    *_, third, fourth = census(tmp_path)  # none is larger
    found = census(tmp_path, fetch_bytes=third.stored_bytes + fourth.stored_bytes)
    assert [cost.left_out for cost in found] == [False, True, False, True]
    assert [cost.promised_bytes is not None for cost in found] == [True, False, True, False]


def test_a_batch_above_the_chunk_size_sets_the_largest_chunk(tmp_path: Path) -> None:
    write_batches(tmp_path, "topic", 0, [keyed_records(1, 2), keyed_records(11, 2, value_bytes=CHUNK_BYTES)])
    small, large = census(tmp_path)
    assert small.chunk_bytes is not None
    assert small.chunk_bytes < CHUNK_BYTES
    assert large.chunk_bytes is not None
    assert large.chunk_bytes > 4 * CHUNK_BYTES


def test_the_estimate_of_the_ratio_moves_in_steps(tmp_path: Path) -> None:
    batches = [keyed_records(at * 50, 50, value_bytes=500) for at in range(10)]
    write_batches(tmp_path, "topic", 0, batches, codec=Codec.GZIP)
    found = census(tmp_path, message_bytes=100)
    assert [cost.estimated_ratio for cost in found] == pytest.approx([1 - step * 0.005 for step in range(1, 11)])
    assert all(cost.observed_ratio is not None and cost.observed_ratio < 0.1 for cost in found)
    assert (any(cost.underestimated for cost in found), all(cost.split for cost in found)) == (False, True)


def test_zstd_is_what_old_clients_cannot_have(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", codec=Codec.ZSTD, segments=1)
    found = census(tmp_path)
    assert total(found, "stored_bytes") == len(stored(tmp_path))
    assert all(cost.converted_bytes is None and cost.promised_bytes is None for cost in found)


def test_damage_is_named(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    path = next(tmp_path.glob("*/*.log"))
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(PipelineFailure, match=rf"{path}: position \d+: .*offset 30.*checksum"):
        census(tmp_path)


def test_a_batch_that_no_conversion_takes_is_told_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record with a negative timestamp, which brokers store, ended the census of the whole directory."""
    write_topic(tmp_path, "topic", segments=1)
    path = next(tmp_path.glob("*/*.log"))
    data = path.read_bytes()
    first = next(batch_headers_in(memoryview(data))).end
    path.write_bytes(patched(data[:first], base_timestamp=-5, max_timestamp=4) + data[first:])
    found = census(tmp_path)
    assert [cost.converted_bytes is None for cost in found] == [True, False, False, False]
    assert "a record has a negative timestamp; old clients cannot have it" in capsys.readouterr().err
