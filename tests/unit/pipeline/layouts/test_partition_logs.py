"""Logs in tiered storage, alone and together with what a broker still has: each offset once, of the right epoch."""

import json
from base64 import b64decode
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest
from stepdown.pipeline.failures import BadUsage, DataLoss, PipelineFailure
from stepdown.pipeline.layouts.aiven_tiered_storage import parse_chunk_sizes
from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.compressed_chunks import decompress_zstd_chunk
from stepdown.pipeline.reading.log_end import log_end_offset
from stepdown.pipeline.reading.partition_segments import PartitionSegments
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.split_rows import SplitRows
from stepdown.pipeline.reading.splits import OffsetsToRead, SplitPlanner
from stepdown.protocol.errors import CorruptRecord, DiskFault
from stepdown.protocol.records.columns import WantedRows
from stepdown.storage.files.checkpoint_file import LOG_STARTS
from support.log_directories import keyed_records, write_batches
from support.tiered import TOPIC_ID, checkpoint, encoded_sizes, packed_sizes, segment_id, to_aiven, to_local_tiered

FILES = PlaceFiles()
OTHER_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class Cluster:
    """A broker's log directory and its tiered storage, in one of the layouts."""

    def __init__(self, folder: Path, layout: str) -> None:
        self.local = folder / "local"
        self.tiered = folder / "tiered"
        self.local.mkdir()
        self._scratch = folder / "scratch"
        self._layout = layout
        self._uploads = 0

    def upload(self, base: int, end: int, epochs: dict[int, int], *, mark: bytes = b"", **more: str) -> None:
        """Put a segment with batches of ten records and these values into tiered storage."""
        number, self._uploads = self._uploads, self._uploads + 1
        log = self._write(self._scratch / str(number), base, end, mark)
        if self._layout == "local":
            to_local_tiered(log, self.tiered, "topic", number, epochs, **more)
        else:
            compressed = self._layout == "aiven-zstd"
            to_aiven(log, self.tiered, "topic", number, epochs, end_offset=end - 1, compressed=compressed, **more)

    def keep(self, base: int, end: int, epochs: dict[int, int], *, start: int = 0) -> None:
        """Let the broker have a segment; its log starts at `start`, which tiered storage may hold."""
        self._write(self.local, base, end, b"")
        folder = self.local / "topic-0"
        (folder / "leader-epoch-checkpoint").write_bytes(checkpoint(epochs))
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}")
        (self.local / LOG_STARTS).write_text(f"0\n1\ntopic 0 {start}\n")

    def _write(self, folder: Path, base: int, end: int, mark: bytes) -> Path:
        batches = [keyed_records(at, 10, value_bytes=100) for at in range(base, end, 10)]
        if mark:
            batches = [[replace(record, value=mark) for record in records] for records in batches]
        return write_batches(folder, "topic", 0, batches, base=base).log


@pytest.fixture(params=["local", "aiven-zstd", "aiven-plain"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    return Cluster(tmp_path, request.param)


def rows(
    log: PartitionSegments,
    wanted: OffsetsToRead | None = None,
    max_bytes: int = 2000,
    leniency: DamagePolicy | None = None,
) -> list[tuple[int, bytes]]:
    """Offset and value of each row, in the order of the splits."""
    found = []
    for split in SplitPlanner(FILES, max_bytes).plan_splits(log, wanted or OffsetsToRead()):
        asked = WantedRows(first_offset=split.first_offset, end_offset=split.end_offset)
        for columns in SplitRows(FILES, split, asked, leniency or DamagePolicy()):
            offsets = memoryview(columns.offsets_buffer).cast("q")[: columns.rows].tolist()
            ends = memoryview(columns.value.ends_buffer).cast("i")[: columns.rows + 1].tolist()
            data = bytes(columns.value.data_buffer)
            found += [(offset, data[a:b]) for offset, a, b in zip(offsets, ends, ends[1:], strict=False)]
    return found


def offsets(log: PartitionSegments, **more: OffsetsToRead) -> list[int]:
    return [offset for offset, _ in rows(log, **more)]


def read(cluster: Cluster) -> PartitionSegments:
    (log,) = find_partition_logs(FILES, str(cluster.local), tiered_path=str(cluster.tiered))
    return log


def read_tiered(cluster: Cluster) -> PartitionSegments:
    (log,) = find_partition_logs(FILES, str(cluster.tiered))
    return log


def test_tiered_storage_is_read_like_a_log_directory(cluster: Cluster) -> None:
    cluster.upload(0, 40, {0: 0})
    cluster.upload(40, 80, {0: 0})
    log = read_tiered(cluster)
    assert (log.topic, log.partition, log.start_offset, log.notes) == ("topic", 0, 0, ())
    assert offsets(log) == list(range(80))
    assert offsets(log, wanted=OffsetsToRead(first=33, end=44)) == list(range(33, 44))
    assert log_end_offset(FILES, log) == 80


def test_what_both_have_is_read_once(cluster: Cluster) -> None:
    cluster.upload(0, 40, {0: 0})
    cluster.upload(40, 80, {0: 0})
    cluster.keep(40, 80, {0: 0})
    cluster.keep(80, 100, {0: 0})
    log = read(cluster)
    assert offsets(log) == list(range(100))
    assert [segment.path.startswith(str(cluster.local)) for segment in log.segments] == [False, True, True]


def test_a_broker_may_begin_in_the_middle_of_an_uploaded_segment(cluster: Cluster) -> None:
    cluster.upload(0, 80, {0: 0})
    cluster.keep(50, 100, {0: 0})
    assert offsets(read(cluster)) == list(range(100))


def test_what_retention_took_stays_away(cluster: Cluster) -> None:
    cluster.upload(0, 40, {0: 0})
    cluster.keep(40, 60, {0: 0}, start=25)
    log = read(cluster)
    assert log.start_offset == 25
    assert offsets(log) == list(range(25, 60))


def test_of_two_uploads_of_one_range_one_is_read(cluster: Cluster) -> None:
    cluster.upload(0, 40, {0: 0})
    cluster.upload(0, 60, {0: 0, 1: 40})
    cluster.upload(60, 80, {0: 0, 1: 40})
    log = read_tiered(cluster)
    assert offsets(log) == list(range(80))
    assert [note.rpartition(": ")[2] for note in log.notes] == ["left out, other segments have its offsets"]


def test_records_that_an_unclean_election_cut_off_are_left_out(cluster: Cluster) -> None:
    cluster.upload(0, 60, {0: 0}, mark=b"old")
    cluster.upload(30, 80, {0: 0, 1: 30}, mark=b"new")
    log = read_tiered(cluster)
    assert rows(log) == [(offset, b"old" if offset < 30 else b"new") for offset in range(80)]
    assert "of a leader epoch that the log has cut off" in log.notes[0]


def test_the_brokers_own_epochs_decide(cluster: Cluster) -> None:
    cluster.upload(0, 60, {0: 0, 1: 20}, mark=b"cut off")
    cluster.upload(0, 60, {0: 0, 2: 20}, mark=b"kept")
    cluster.keep(60, 80, {0: 0, 2: 20})
    values = {value for _, value in rows(read(cluster), OffsetsToRead(first=20, end=60))}
    assert values == {b"kept"}


def test_a_hole_is_told(cluster: Cluster) -> None:
    cluster.upload(0, 40, {0: 0})
    cluster.upload(60, 80, {0: 0})
    log = read_tiered(cluster)
    with pytest.raises(DataLoss, match="topic-0: offsets 40 to 59 are missing"):
        rows(log)
    lenient = DamagePolicy(fail_on_data_loss=False)
    assert [offset for offset, _ in rows(log, leniency=lenient)] == [*range(40), *range(60, 80)]
    assert [(each.first_offset, each.end_offset) for each in lenient.skipped] == [(40, 60)]
    assert log.notes == ("offsets 40 to 59 are missing: no segment has them",)


def test_a_topic_that_was_made_anew_is_not_mixed_with_the_old_one(cluster: Cluster) -> None:
    cluster.upload(0, 80, {0: 0}, mark=b"old", topic_id=OTHER_ID)
    cluster.upload(0, 40, {0: 0})
    cluster.keep(40, 60, {0: 0})
    assert offsets(read(cluster)) == list(range(60))


def test_an_upload_that_was_cut_off_is_not_there(cluster: Cluster) -> None:
    cluster.upload(0, 40, {0: 0})
    cluster.upload(40, 80, {0: 0})
    for last in (".leader_epoch_checkpoint", ".rsm-manifest"):
        for file in cluster.tiered.rglob(f"*{segment_id(1)}{last}"):
            file.unlink()
    assert offsets(read_tiered(cluster)) == list(range(40))


def test_a_partition_without_segments_is_empty(tmp_path: Path) -> None:
    """It ended the job with a traceback."""
    (tmp_path / "empty-0").mkdir()
    (log,) = find_partition_logs(FILES, str(tmp_path))
    assert (log.topic, log.segments) == ("empty", ())
    assert log_end_offset(FILES, log) == 0
    assert offsets(log) == []


def test_a_place_that_is_no_tiered_storage_is_refused(tmp_path: Path) -> None:
    write_batches(tmp_path / "local", "topic", 0, [keyed_records(0, 10)])
    with pytest.raises(BadUsage, match="no tiered storage of a layout that is known"):
        find_partition_logs(FILES, str(tmp_path / "local"), tiered_path=str(tmp_path / "local"))


def test_an_encrypted_segment_is_refused_with_a_sentence(tmp_path: Path) -> None:
    log = write_batches(tmp_path / "scratch", "topic", 0, [keyed_records(0, 10)]).log
    manifest = to_aiven(log, tmp_path / "tiered", "topic", 0, {0: 0}, end_offset=9)
    manifest.write_text(manifest.read_text().replace('"compression"', '"encryption": {"aad": ""}, "compression"'))
    with pytest.raises(PipelineFailure, match="is encrypted, and its key is wrapped"):
        find_partition_logs(FILES, str(tmp_path / "tiered"))


def changed(manifest: Path, **fields: object) -> None:
    """Put these fields of the manifest, by their path in it, in place of what it says."""
    found = json.loads(manifest.read_text())
    for name, value in fields.items():
        *folders, last = name.split("__")
        reduce(lambda inside, folder: inside[folder], folders, found)[last] = value
    manifest.write_text(json.dumps(found))


@pytest.mark.parametrize(
    "fields",
    [
        {"version": "2"},
        {"chunkIndex__originalFileSize": 1 << 60},
        {"chunkIndex__originalChunkSize": 0},
        {"chunkIndex__originalChunkSize": 1},
        {"chunkIndex__transformedChunks": packed_sizes(b"\xff\xff\xff\xff" + bytes(9))},
        {"chunkIndex__transformedChunks": packed_sizes(bytes(20 << 20))},
        {"chunkIndex__transformedChunks": "AAAA"},
        {"chunkIndex__type": "other"},
        {"segmentIndexes__leaderEpoch__size": 1 << 60},
        {"segmentIndexes__offset__position": -1},
        {"remoteLogSegmentMetadata__endOffset": -2},
        {"remoteLogSegmentMetadata": None},
    ],
    ids=str,
)
def test_a_manifest_that_lies_is_named_and_allocates_nothing(tmp_path: Path, fields: dict[str, object]) -> None:
    log = write_batches(tmp_path / "scratch", "topic", 0, [keyed_records(0, 100)]).log
    manifest = to_aiven(log, tmp_path / "tiered", "topic", 0, {0: 0}, end_offset=99)
    changed(manifest, **fields)
    with pytest.raises(DiskFault, match=f"{manifest.name}: no manifest of version 1"):
        find_partition_logs(FILES, str(tmp_path / "tiered"))


def test_a_chunk_that_holds_more_than_its_manifest_says_is_not_opened(tmp_path: Path) -> None:
    log = write_batches(tmp_path / "scratch", "topic", 0, [keyed_records(0, 10)]).log
    manifest = to_aiven(log, tmp_path / "tiered", "topic", 0, {0: 0}, end_offset=9)
    changed(manifest, chunkIndex__originalFileSize=100)
    (found,) = find_partition_logs(FILES, str(tmp_path / "tiered"))
    with pytest.raises(CorruptRecord, match="chunk 0: holds more than 100 bytes"):
        rows(found)


@pytest.mark.parametrize("sizes", [[], [7], [300, 5], [1000, 1000, 3], [70_000, 1 << 20, 99, 1]], ids=str)
def test_sizes_of_chunks_are_read_as_they_are_written(sizes: list[int]) -> None:
    assert parse_chunk_sizes(encoded_sizes(sizes)) == tuple(sizes)


def test_sizes_are_read_that_the_plugin_has_written() -> None:
    """Version 1.0.0, a segment of 446,462 bytes in chunks of 100,000. They were read without zstd, so never."""
    written = b64decode("KLUv/SAVqQAAAAAABQABGtgCANwBWgGdAAAAAIW1")
    sizes = parse_chunk_sizes(decompress_zstd_chunk(written, 100, ""))
    assert len(sizes) == 5
    assert sum(sizes) == 324_840  # what the object had


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"\x7f" + data[1:], lambda data: data[:6]], ids=range(3)
)
def test_sizes_that_cannot_be_are_refused(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ValueError, match=r"for the sizes of|chunks, more than"):
        parse_chunk_sizes(damage(encoded_sizes([100, 200, 300])))
