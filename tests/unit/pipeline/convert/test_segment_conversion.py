"""Segments in another magic: the bytes a broker would send, the same records, nothing half done."""

import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.pipeline.convert.job import plan_tasks
from stepdown.pipeline.convert.segment_conversion import SegmentOutcome, convert_segment, read_note
from stepdown.pipeline.failures import PipelineFailure
from stepdown.pipeline.job_source import Source
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.protocol.records.batches import iter_batches
from stepdown.protocol.records.builder import build_control_marker
from stepdown.protocol.records.conversion.down import convert_down
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record
from support.log_directories import keyed_records, write_batches, write_topic
from support.segments import START_MS

Row = tuple[int, int, bytes | None, bytes | None]


def convert(source: Path, out: Path, magic: int, recompress: Codec | None = None) -> list[SegmentOutcome]:
    return [
        convert_segment(task)
        for task in plan_tasks(PlaceFiles(), Source(path=str(source)), str(out), magic, recompress)
    ]


def rows(log_dir: Path) -> list[Row]:
    return [
        (record.offset, record.timestamp, record.key, record.value)
        for path in sorted(log_dir.glob("*/*.log"))
        for batch in iter_batches(path.read_bytes())
        if not batch.is_control
        for record in batch.records()
    ]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", list(Codec)[:4], ids=lambda codec: codec.name)
def test_the_bytes_are_those_that_old_clients_are_sent(tmp_path: Path, codec: Codec, magic: int) -> None:
    write_topic(tmp_path / "in", "topic", codec=codec, segments=1)
    (outcome,) = convert(tmp_path / "in", tmp_path / "out", magic)
    source = (tmp_path / "in/topic-0" / f"{0:020}.log").read_bytes()
    made = (tmp_path / "out/topic-0" / f"{0:020}.log").read_bytes()
    sent = convert_down(source, target=magic, first_offset=0, out=bytearray())
    assert made == bytes(sent.data)
    assert (outcome.bytes_in, outcome.bytes_out, outcome.records) == (len(source), len(made), 40)
    assert outcome.batches == len(list(iter_batches(made)))


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_there_and_back_the_records_are_the_same(tmp_path: Path, codec: Codec) -> None:
    write_topic(tmp_path / "in", "topic", codec=codec, headers=True)
    down = convert(tmp_path / "in", tmp_path / "down", 1, Codec.LZ4)
    convert(tmp_path / "down", tmp_path / "up", 2)
    assert rows(tmp_path / "up") == rows(tmp_path / "down") == rows(tmp_path / "in")
    assert sum(each.headers for each in down) == sum(offset % 3 for offset in range(80))
    magics = {batch.magic for path in (tmp_path / "up").glob("*/*.log") for batch in iter_batches(path.read_bytes())}
    assert magics == {2}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=lambda codec: codec.name)
@pytest.mark.parametrize("magic", [0, 1])
def test_gaps_and_append_times_survive_the_way_up(tmp_path: Path, magic: int, codec: Codec) -> None:
    records = [
        Record(offset=offset, timestamp=START_MS + offset if magic else -1, key=b"k", value=b"v")
        for offset in (3, 4, 7, 8, 20)
    ]
    stamp = {"timestamp_type": TimestampType.LOG_APPEND_TIME, "log_append_time": START_MS} if magic else {}
    write_batches(tmp_path / "in", "gaps", 0, [records, keyless(30, magic)], magic=magic, codec=codec)
    write_batches(tmp_path / "in", "stamped", 0, [records], magic=magic, codec=codec, **stamp)
    convert(tmp_path / "in", tmp_path / "out", 2)
    assert rows(tmp_path / "out") == rows(tmp_path / "in")


def keyless(first: int, magic: int) -> list[Record]:
    return [Record(offset=first + n, timestamp=START_MS if magic else -1, value=b"v" * 9000) for n in range(5)]


def test_what_old_magics_cannot_hold_is_counted(tmp_path: Path) -> None:
    write_batches(tmp_path, "topic", 0, [keyed_records(0, 10)], producer_id=7, producer_epoch=0, base_sequence=0)
    marker = build_control_marker(
        ControlType.COMMIT, offset=10, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp=START_MS
    )
    path = tmp_path / "topic-0" / f"{0:020}.log"
    path.write_bytes(path.read_bytes() + marker)
    (outcome,) = convert(tmp_path, tmp_path / "out", 0)
    assert (outcome.records, outcome.producer_batches, outcome.control_batches, outcome.timestamps) == (10, 2, 1, 10)


def test_zstd_is_refused_unless_another_codec_is_named(tmp_path: Path) -> None:
    write_topic(tmp_path / "in", "topic", codec=Codec.ZSTD)
    with pytest.raises(PipelineFailure, match=r"topic-0/\d+\.log: position 0: .*zstd.*--recompress"):
        convert(tmp_path / "in", tmp_path / "out", 1)
    assert not list((tmp_path / "out").glob("*/*.log"))


def test_damage_ends_the_conversion_and_a_torn_tail_the_log(tmp_path: Path) -> None:
    write_topic(tmp_path / "in", "topic", segments=1)
    path = tmp_path / "in/topic-0" / f"{0:020}.log"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    (outcome,) = convert(tmp_path / "in", tmp_path / "torn", 1)
    assert outcome.records == 30
    damaged = bytearray(whole)
    damaged[100] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(PipelineFailure, match=r"position 0: .*checksum"):
        convert(tmp_path / "in", tmp_path / "damaged", 1)


KILLED = """
import sys
from stepdown.pipeline.convert.job import plan_tasks
from stepdown.pipeline.convert.segment_conversion import convert_segment
from stepdown.pipeline.job_source import Source
from stepdown.pipeline.places.place_files import PlaceFiles
tasks = plan_tasks(PlaceFiles(), Source(path=sys.argv[1]), sys.argv[2], 1, None)
print("ready", flush=True)
for task in tasks:
    convert_segment(task)
    print("one", flush=True)
"""


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_killed_conversion_goes_on_to_the_same_result(tmp_path: Path, after: int) -> None:
    write_topic(tmp_path / "in", "topic", codec=Codec.GZIP, segments=5)
    expected = {each.key: each.sha256 for each in convert(tmp_path / "in", tmp_path / "whole", 1)}
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "in"), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after + 1):
            process.stdout.readline()
        process.kill()
    tasks = plan_tasks(PlaceFiles(), Source(path=str(tmp_path / "in")), str(out), 1, None)
    found = [read_note(PlaceFiles(), task) or convert_segment(task) for task in tasks]
    assert {each.key: each.sha256 for each in found} == expected
    for name in ("*.log", "*.index", "*.timeindex"):
        before = [path.read_bytes() for path in sorted((tmp_path / "whole/topic-0").glob(name))]
        assert [path.read_bytes() for path in sorted((out / "topic-0").glob(name))] == before
