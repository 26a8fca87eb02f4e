import json
import re
from pathlib import Path
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from stepdown.cli.log.file_dump import FileDump
from stepdown.protocol.records.builder import build_batch, build_control_marker
from stepdown.protocol.records.layout import Codec, ControlType, TimestampType
from stepdown.protocol.records.record import Record
from stepdown.storage.files.checkpoint_file import LOG_STARTS, write_offsets
from stepdown.storage.files.files import Files
from stepdown.storage.files.partition_metadata import write_topic_id
from stepdown.storage.log.leader_epochs import LeaderEpochs
from stepdown.storage.producers.producer_snapshot import encode_snapshot
from stepdown.storage.producers.producer_states import BatchSequence, ProducerEntry
from support.command import Finished, run_command
from support.files import BusyFiles
from support.kafka import dump_log_segments
from support.logs import append, make_log
from support.segments import START_MS, records_from, sample_segment, write_segment

FORMATS = [
    pytest.param(magic, codec, id=f"v{magic}-{codec.name.lower()}")
    for magic in (0, 1, 2)
    for codec in Codec
    if magic == 2 or codec is not Codec.ZSTD
]

Row = dict[str, Any]


def dump(*arguments: object) -> tuple[Finished, list[Row]]:
    finished = run_command("log", "dump", "--json", *arguments)
    return finished, [json.loads(line) for line in finished.stdout.splitlines()]


def rows_of(rows: list[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["kind"] == kind]


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_every_batch_and_record_is_shown(tmp_path: Path, magic: int, codec: Codec) -> None:
    segment = sample_segment(tmp_path, magic=magic, codec=codec)
    ended, rows = dump(segment.log, "--records")
    batches, records = rows_of(rows, "batch"), rows_of(rows, "record")
    assert ended.exit_code == 0
    assert [row["position"] for row in batches] == list(segment.positions)
    assert [row["last_offset"] for row in batches] == list(segment.last_offsets)
    assert {(row["magic"], row["codec"], row["valid"]) for row in batches} == {(magic, codec.name.lower(), True)}
    assert [row["offset"] for row in records] == list(range(segment.last_offsets[-1] + 1))
    assert rows[-1]["counts"] == {"batch": len(batches), "record": len(records)}


def test_records_show_nulls_headers_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    record = Record(
        offset=0, timestamp=1, timestamp_type=TimestampType.CREATE_TIME, key=b"\xff", value=None, headers=(("h", b"x"),)
    )
    segment = write_segment(tmp_path, [build_batch([record])], [0])
    (row,) = rows_of(dump(segment.log, "--records")[1], "record")
    assert (row["key"], row["value"], row["headers"]) == ({"base64": "/w=="}, None, [{"key": "h", "value": "x"}])
    told = run_command("log", "dump", segment.log, "--records").stdout
    assert r"| offset: 0 timestamp: 1 keySize: 1 valueSize: -1 headers: [h=x] key: \xff payload: null" in told


def test_a_control_batch_shows_its_marker(tmp_path: Path) -> None:
    marker = build_control_marker(
        ControlType.COMMIT,
        offset=0,
        producer_id=7,
        producer_epoch=1,
        coordinator_epoch=3,
        timestamp=START_MS,
        partition_leader_epoch=0,
    )
    _, rows = dump(write_segment(tmp_path, [marker], [0]).log, "--records")
    (batch,), (record,) = rows_of(rows, "batch"), rows_of(rows, "record")
    assert (batch["control"], batch["producer_id"]) == (True, 7)
    assert (record["control_type"], record["coordinator_epoch"]) == ("COMMIT", 3)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_flipped_bit_is_found_and_ends_with_1(tmp_path: Path, magic: int) -> None:
    segment = sample_segment(tmp_path, magic=magic)
    data = bytearray(segment.log.read_bytes())
    data[segment.positions[2] - 1] ^= 1
    segment.log.write_bytes(data)
    ended, rows = dump(segment.log, "--records")
    assert ended.exit_code == 1
    assert [row["valid"] for row in rows_of(rows, "batch")] == [True, False, True, True]
    (problem,) = rows_of(rows, "problem")
    assert (problem["position"], problem["message"]) == (segment.positions[1], "the checksum does not match")


def test_a_torn_end_is_a_problem_and_preallocated_zeros_are_none(tmp_path: Path) -> None:
    segment = sample_segment(tmp_path)
    whole = segment.log.read_bytes()
    segment.log.write_bytes(whole[:-1])
    ended, rows = dump(segment.log)
    assert (ended.exit_code, rows_of(rows, "problem")[0]["position"]) == (1, segment.positions[3])
    segment.log.write_bytes(whole + bytes(3000))
    ended, rows = dump(segment.log)
    assert (ended.exit_code, rows_of(rows, "reserved")[0]["size_bytes"]) == (0, 3000)


@pytest.mark.parametrize("every", [2, 3, 4, 7, 50])
@pytest.mark.parametrize("happens", ["append", "roll", "both"])
def test_a_log_that_a_broker_appends_to_and_cuts_meanwhile_has_no_problem(
    tmp_path: Path, happens: str, every: int
) -> None:
    log = make_log(tmp_path / "orders-0", preallocate=True, segment_bytes=100_000)
    while log.size_bytes <= 3000:
        append(log, 100)
    there = log.log_end_offset

    def happen() -> None:
        if happens != "append":
            log.roll()
        if happens != "roll":
            append(log, 100)

    shown = FileDump(BusyFiles(happen, every), records=True, index_sanity=False)
    rows = list(shown.rows(Path(log.segments.active.file.path)))
    assert not rows_of(rows, "problem")
    assert [row["offset"] for row in rows_of(rows, "record")][:there] == list(range(there))


def test_offsets_that_go_back_are_a_problem(tmp_path: Path) -> None:
    batches = [build_batch(records_from(offset)) for offset in (3, 0)]
    ended, rows = dump(write_segment(tmp_path, batches, [5, 2]).log)
    assert ended.exit_code == 1
    assert rows_of(rows, "problem")[0]["message"] == "offset 0 comes after offset 5"


def test_what_is_no_batch_is_told_with_its_position(tmp_path: Path) -> None:
    segment = sample_segment(tmp_path)
    with segment.log.open("ab") as file:
        file.write(b"\0" * 8 + b"\xff" * 40)
    ended, rows = dump(segment.log)
    assert (ended.exit_code, len(rows_of(rows, "batch"))) == (1, 4)
    assert "cannot be read" in rows_of(rows, "problem")[0]["message"]


def test_good_indexes_are_shown_and_sound(tmp_path: Path) -> None:
    segment = sample_segment(tmp_path)
    ended, rows = dump(segment.index, segment.time_index)
    assert ended.exit_code == 0
    assert [(row["offset"], row["position"]) for row in rows_of(rows, "index")] == list(
        zip(segment.last_offsets, segment.positions, strict=True)
    )[1:]
    assert [row["timestamp"] for row in rows_of(rows, "time_index")] == [START_MS + 5, START_MS + 8, START_MS + 11]


def test_zeros_that_an_index_reserves_are_passed_over(tmp_path: Path) -> None:
    segment = sample_segment(tmp_path)
    for path, width in ((segment.index, 8), (segment.time_index, 12)):
        path.write_bytes(path.read_bytes() + bytes(width * 100))
    assert run_command("log", "dump", tmp_path, "--index-sanity").exit_code == 0


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (pack(">ii", 11, 7), "no batch begins at the entry's position"),
        (pack(">ii", 4, 0) + pack(">ii", 4, 0), "does not ascend"),
        (pack(">ii", 1, 0), "ends at offset 2, above the entry's"),
        (pack(">ii", 99, 1 << 30), "no batch begins"),
        (b"abc", "not a multiple of 8"),
    ],
    ids=["position", "order", "offset", "past the end", "size"],
)
def test_an_offset_index_that_is_not_true_is_a_problem(tmp_path: Path, entry: bytes, told: str) -> None:
    segment = sample_segment(tmp_path)
    segment.index.write_bytes(entry)
    ended, rows = dump(segment.log, "--index-sanity")
    assert ended.exit_code == 1
    assert told in rows_of(rows, "problem")[0]["message"]
    assert not rows_of(rows, "index")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (pack(">qi", START_MS + 1, 5), f"is {START_MS + 5}"),
        (pack(">qi", START_MS + 5, 5) * 2, "does not ascend"),
        (pack(">qi", START_MS + 5, 99), "no batch has the entry's offset"),
        (b"abc", "not a multiple of 12"),
    ],
    ids=["timestamp", "order", "offset", "size"],
)
def test_a_time_index_that_is_not_true_is_a_problem(tmp_path: Path, entry: bytes, told: str) -> None:
    segment = sample_segment(tmp_path)
    segment.time_index.write_bytes(entry)
    ended, rows = dump(segment.log, "--index-sanity")
    assert ended.exit_code == 1
    assert told in rows_of(rows, "problem")[0]["message"]


def test_an_index_without_its_segment_is_a_problem(tmp_path: Path) -> None:
    segment = sample_segment(tmp_path)
    segment.log.unlink()
    ended, rows = dump(segment.index)
    assert (ended.exit_code, "is missing" in rows_of(rows, "problem")[0]["message"]) == (1, True)


def test_aborted_transactions_are_shown(tmp_path: Path) -> None:
    path = tmp_path / f"{10:020d}.txnindex"
    path.write_bytes(pack(">hqqqq", 0, 7, 11, 15, 12))
    ended, rows = dump(path)
    (row,) = rows_of(rows, "aborted_transaction")
    assert (ended.exit_code, row["producer_id"], row["first_offset"], row["last_offset"]) == (0, 7, 11, 15)
    path.write_bytes(pack(">hqqqq", 0, 7, 1, 2, 1))
    assert dump(path)[0].exit_code == 1


def test_a_producer_snapshot_is_shown_and_its_checksum_looked_at(tmp_path: Path) -> None:
    path = tmp_path / f"{3:020d}.snapshot"
    producer = ProducerEntry(7, epoch=1, batches=[BatchSequence(4, 9, 2, START_MS)])
    data = encode_snapshot([producer])
    path.write_bytes(data)
    (row,) = rows_of(dump(path)[1], "producer")
    assert (row["producer_id"], row["first_sequence"], row["last_sequence"], row["last_offset"]) == (7, 2, 4, 9)
    path.write_bytes(data[:-1] + b"\1")
    ended, rows = dump(path)
    assert (ended.exit_code, "wrong checksum" in rows_of(rows, "problem")[0]["message"]) == (1, True)


def test_a_partition_folder_is_shown_whole(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    sample_segment(folder)
    files = Files()
    LeaderEpochs(files, str(folder)).assign(3, 0)
    write_topic_id(files, str(folder), UUID(int=5))
    (folder / "notes.txt").write_text("not ours")
    ended, rows = dump(folder)
    assert ended.exit_code == 0
    assert {Path(row["file"]).name for row in rows} == {
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
        "partition.metadata",
    }
    assert rows_of(rows, "leader_epoch")[0]["epoch"] == 3
    assert rows_of(rows, "topic_id")[0]["topic_id"] == str(UUID(int=5))


def test_checkpoints_of_a_log_directory_are_shown(tmp_path: Path) -> None:
    write_offsets(Files(), str(tmp_path / LOG_STARTS), {("orders", 0): 12})
    (row,) = rows_of(dump(tmp_path / LOG_STARTS)[1], "checkpoint")
    assert (row["topic"], row["partition"], row["offset"]) == ("orders", 0, 12)
    (tmp_path / LOG_STARTS).write_text("7\n")
    assert dump(tmp_path / LOG_STARTS)[0].exit_code == 1


@pytest.mark.parametrize("name", ["missing", "notes.txt", "empty"])
def test_a_path_that_cannot_be_shown_ends_with_2(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    ended = run_command("log", "dump", tmp_path / name)
    assert ended.exit_code == 2
    assert str(tmp_path / name) in ended.stderr


def test_files_are_only_read(tmp_path: Path) -> None:
    segment = sample_segment(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path in before:
        path.chmod(0o444)
    run_command("log", "dump", segment.log.parent, "--records")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_segment_is_read_in_windows(tmp_path: Path) -> None:
    batches = [build_batch(records_from(at, 1, b"x" * 100_000)) for at in range(100)]
    segment = write_segment(tmp_path, batches, range(100))
    sizes = []

    class Watched(Files):
        def read(self, handle: Any, size: int, position: int) -> bytes:
            sizes.append(size)
            return super().read(handle, size, position)

    assert sum(1 for _ in FileDump(Watched(), records=True).rows(segment.log)) == 201
    assert max(sizes) <= 1 << 20


FIELD = re.compile(r"(\w+): (\S+)")
INDEX_ENTRIES = ({"offset", "position"}, {"timestamp", "offset"})


def batch_lines(printed: str) -> list[dict[str, str]]:
    rows = [dict(FIELD.findall(line)) for line in printed.splitlines()]
    return [row for row in rows if "isvalid" in row]


def entry_lines(printed: str) -> list[dict[str, str]]:
    rows = [dict(FIELD.findall(line)) for line in printed.splitlines()]
    return [row for row in rows if set(row) in INDEX_ENTRIES]


@pytest.mark.java
@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_batches_and_indexes_are_told_as_kafkas_own_tool_tells_them(tmp_path: Path, magic: int, codec: Codec) -> None:
    """Kafka's lines may have more: deleteHorizonMs."""
    segment = sample_segment(tmp_path, magic=magic, codec=codec)
    files = [segment.log, segment.index] if magic == 0 else [segment.log, segment.index, segment.time_index]
    kafkas, ours = dump_log_segments(files), run_command("log", "dump", *files).stdout
    assert entry_lines(ours) == entry_lines(kafkas)
    assert len(batch_lines(ours)) == len(segment.positions)
    for our, kafka in zip(batch_lines(ours), batch_lines(kafkas), strict=True):
        assert our == {name: kafka[name] for name in our}
