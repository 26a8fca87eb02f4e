"""What fetches by old clients would promise and hold, against the broker's own conversion."""

from pathlib import Path

import pytest
from stepdown.pipeline.census.exact import CHUNK_BYTES, Exact, ExactTask, take_exactly
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.reading.log_files import partition_logs
from stepdown.protocol.records.convert import convert_down
from stepdown.protocol.records.layout import Codec
from stepdown.storage.files import Files
from support.log_directories import keyed_records, write_batches, write_topic


def census(log_dir: Path, *, magic: int = 1, fetch_bytes: int = 1 << 20, message_bytes: int = 1000) -> Exact:
    (log,) = partition_logs(Files(read_only=True), str(log_dir))
    (segment,) = log.segments
    limits = {"fetch_bytes": fetch_bytes, "max_message_bytes": message_bytes}
    return take_exactly(ExactTask(topic=log.topic, partition=0, segment=segment, magic=magic, **limits))


def stored(log_dir: Path) -> bytes:
    return next(log_dir.glob("*/*.log")).read_bytes()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=lambda codec: codec.name)
@pytest.mark.parametrize("magic", [0, 1])
def test_sizes_are_those_of_the_brokers_conversion(tmp_path: Path, codec: Codec, magic: int) -> None:
    write_topic(tmp_path, "topic", codec=codec, segments=1)
    found = census(tmp_path, magic=magic)
    source = stored(tmp_path)
    sent = convert_down(source, target=magic, first_offset=0, out=bytearray()).size_bytes
    assert (found.batches, found.stored_bytes, found.converted_bytes) == (4, len(source), sent)
    assert (found.fetches, found.promised_bytes) == (1, len(source))
    assert found.padding_bytes == max(0, len(source) - sent)
    assert (found.left_out_batches > 0) == (sent > len(source))
    assert found.largest_chunk_bytes == len(source) + sent


def test_a_fetch_takes_one_batch_at_least(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    found = census(tmp_path, fetch_bytes=1)
    assert found.fetches == 4
    assert found.left_out_batches == 0
    assert found.promised_bytes == found.converted_bytes  # small records grow, and the first batch is promised whole


def test_a_batch_above_the_chunk_size_sets_the_largest_chunk(tmp_path: Path) -> None:
    write_batches(tmp_path, "topic", 0, [keyed_records(1, 2), keyed_records(11, 2, value_bytes=CHUNK_BYTES)])
    assert census(tmp_path).largest_chunk_bytes > 4 * CHUNK_BYTES


def test_the_estimate_of_the_ratio_moves_in_steps(tmp_path: Path) -> None:
    batches = [keyed_records(at * 50, 50, value_bytes=500) for at in range(10)]
    write_batches(tmp_path, "topic", 0, batches, codec=Codec.GZIP)
    found = census(tmp_path, message_bytes=100)
    assert found.estimated_ratio == pytest.approx(1 - 10 * 0.005)
    assert found.compressed_bytes / found.opened_bytes < 0.1
    assert (found.underestimated_batches, found.split_batches) == (0, 10)


def test_zstd_is_what_old_clients_cannot_have(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", codec=Codec.ZSTD, segments=1)
    found = census(tmp_path)
    assert found.unreadable_bytes == found.stored_bytes == len(stored(tmp_path))
    assert found.fetches == 0


def test_damage_is_named(tmp_path: Path) -> None:
    write_topic(tmp_path, "topic", segments=1)
    path = next(tmp_path.glob("*/*.log"))
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(PipelineFailure, match=rf"{path}: position \d+: .*offset 30.*checksum"):
        census(tmp_path)
