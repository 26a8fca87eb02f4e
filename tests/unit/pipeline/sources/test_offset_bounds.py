"""Where reading starts and ends, with the options of Spark's Kafka source."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StructField, StructType
from stepdown.pipeline.failures import BadUsage, DataLoss, PipelineFailure
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.split_rows import SplitRows
from stepdown.pipeline.reading.splits import MAX_OFFSET, OffsetsToRead, SplitPlanner
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.offset_bounds import end_offset, first_offset
from stepdown.pipeline.sources.options import BATCH_OPTIONS, OPTIONS, read_options
from stepdown.protocol.records.columns import WantedRows
from stepdown.protocol.records.layout import Codec
from support.log_directories import write_topic
from support.segments import START_MS


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    """Two partitions of three segments of 40 records, one a millisecond."""
    write_topic(tmp_path, "topic", partitions=2, segments=3, codec=Codec.LZ4)
    return tmp_path


def ranges(log_dir: Path, **options: str) -> list[tuple[int, int]]:
    """First and end (open) of each partition."""
    asked = read_options({"path": str(log_dir)} | options)
    files = asked.files()
    logs = asked.logs(files)
    return [
        (
            first_offset(asked.starting, files, log, partial(asked.end_of_reading, files, log)),
            end_offset(asked.ending, files, log),
        )
        for log in logs
    ]


def of_topic(**partitions: int) -> str:
    return json.dumps({"topic": {name[1:]: value for name, value in partitions.items()}})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(0, MAX_OFFSET), (0, MAX_OFFSET)]),
        ({"startingOffsets": "latest"}, [(120, MAX_OFFSET), (120, MAX_OFFSET)]),
        (
            {"startingOffsets": of_topic(p0=7, p1=-1), "endingOffsets": of_topic(p0=18, p1=-1)},
            [(7, 18), (120, MAX_OFFSET)],
        ),
        ({"startingOffsets": of_topic(p1=9)}, [(0, MAX_OFFSET), (9, MAX_OFFSET)]),
        ({"startingTimestamp": str(START_MS + 63)}, [(63, MAX_OFFSET), (63, MAX_OFFSET)]),
        ({"startingTimestamp": "0", "endingTimestamp": str(START_MS + 41)}, [(0, 41), (0, 41)]),
        ({"startingTimestamp": str(START_MS + 1), "startingOffsets": "latest"}, [(1, MAX_OFFSET), (1, MAX_OFFSET)]),
        ({"endingTimestamp": str(START_MS + 500)}, [(0, MAX_OFFSET), (0, MAX_OFFSET)]),
        (
            {
                "startingOffsetsByTimestamp": of_topic(p0=START_MS + 40, p1=START_MS + 999),
                "startingOffsetsByTimestampStrategy": "latest",
            },
            [(40, MAX_OFFSET), (120, MAX_OFFSET)],
        ),
        ({"assign": '{"topic":[1]}', "startingOffsets": of_topic(p1=3)}, [(3, MAX_OFFSET)]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_options_say_which_offsets(log_dir: Path, options: dict[str, str], expected: list[tuple[int, int]]) -> None:
    assert ranges(log_dir, **options) == expected


@pytest.mark.parametrize("damage", ["none", "missing", "empty"])
def test_a_time_is_found_whatever_the_time_index_has(log_dir: Path, damage: str) -> None:
    for path in log_dir.rglob("*.timeindex"):
        if damage == "missing":
            path.unlink()
        elif damage == "empty":
            path.write_bytes(b"")
    for at in (0, 1, 39, 40, 77, 119):
        assert ranges(log_dir, startingTimestamp=str(START_MS + at))[0][0] == at


def planned_offsets(log_dir: Path, **options: str) -> list[tuple[int, int]]:
    """First offset and end (open) of the batch query's splits."""
    asked = read_options({"path": str(log_dir), "assign": '{"topic":[1]}'} | options)
    reader = SegmentsReader(asked, StructType([StructField("offset", LongType())]))
    return [(split.first_offset, split.end_offset) for task in reader.partitions() for split in task.splits]


@pytest.mark.parametrize(
    ("start", "end", "failure", "said"),
    [
        (60, 50, BadUsage, "reading would start at offset 60, which is after its end, offset 50"),
        (-1, 50, BadUsage, "reading would start at offset 120, which is after its end, offset 50"),
        (121, -1, DataLoss, "the start, offset 121, was asked for, the log can be read up to 120 (open)"),
        (60, 121, DataLoss, "the end, offset 121, was asked for, the log can be read up to 120 (open)"),
        (130, 140, DataLoss, "the end, offset 140, was asked for, the log can be read up to 120 (open)"),
    ],
)
def test_offsets_that_cannot_be_are_refused(
    log_dir: Path, start: int, end: int, failure: type[PipelineFailure], said: str
) -> None:
    """They were fewer rows without a word, and `ValueError: negative count`."""
    bounds = {"startingOffsets": of_topic(p1=start), "endingOffsets": of_topic(p1=end)}
    with pytest.raises(failure, match=f"topic-1: .*{re.escape(said)}"):
        planned_offsets(log_dir, **bounds)


def test_times_the_wrong_way_round_are_refused(log_dir: Path) -> None:
    """They were no rows, without a word."""
    times = {"startingTimestamp": str(START_MS + 60), "endingTimestamp": str(START_MS + 50)}
    with pytest.raises(BadUsage, match="topic-1: reading would start at offset 60, which is after its end, offset 50"):
        planned_offsets(log_dir, **times)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (60, 121, [(60, 121), (60, 121)]),
        (120, 120, []),
        (119, 120, [(119, 120)]),
        (50, 50, []),
    ],
)
def test_without_fail_on_data_loss_what_is_there_is_read(
    log_dir: Path, start: int, end: int, expected: list[tuple[int, int]]
) -> None:
    bounds = {"startingOffsets": of_topic(p1=start), "endingOffsets": of_topic(p1=end)}
    assert planned_offsets(log_dir, failOnDataLoss="false", **bounds) == expected


@pytest.mark.parametrize("bounds", [(120, 120), (0, 120), (120, -1), (-1, -1), (-2, 0)])
def test_bounds_at_the_ends_of_the_log_are_no_loss(log_dir: Path, bounds: tuple[int, int]) -> None:
    start, end = bounds
    planned_offsets(log_dir, startingOffsets=of_topic(p1=start), endingOffsets=of_topic(p1=end))


@pytest.mark.parametrize(
    ("option", "number", "least"),
    [
        ("startingOffsets", -3, -2),
        ("endingOffsets", -2, -1),
        ("startingOffsetsByTimestamp", -1, 0),
        ("endingOffsetsByTimestamp", -1, 0),
    ],
)
def test_a_number_below_the_least_is_refused_with_its_partition(
    log_dir: Path, option: str, number: int, least: int
) -> None:
    """A negative time was read as none at all, and the whole partition with it."""
    said = f"the option {option}: topic-1 has {number}, and {least} is the least"
    with pytest.raises(BadUsage, match=re.escape(said)):
        planned_offsets(log_dir, **{option: of_topic(p1=number)})


def test_a_time_behind_all_records_is_told(log_dir: Path) -> None:
    with pytest.raises(PipelineFailure, match=r"topic-0 has no record at .* ms or later"):
        ranges(log_dir, startingTimestamp=str(START_MS + 999))


def test_eleven_offsets_are_a_piece_of_one_segment(log_dir: Path) -> None:
    asked = read_options({"path": str(log_dir), "assign": '{"topic":[0]}'})
    files = asked.files()
    (log,) = asked.logs(files)
    (split,) = SplitPlanner(files).plan_splits(log, OffsetsToRead(first=52, end=63))
    assert split.base_offset == 40
    assert split.size_bytes < log.segments[1].size_bytes
    wanted = WantedRows(first_offset=52, end_offset=63)
    assert sum(columns.rows for columns in SplitRows(files, split, wanted, DamagePolicy())) == 11


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startingOffsets", "newest"),
        ("endingOffsets", "earliest"),
        ("endingOffsets", of_topic(p0=-2)),
        ("startingTimestamp", "today"),
        ("endingOffsetsByTimestamp", "[1]"),
        ("assign", "topic"),
        ("startingOffsetsByTimestampStrategy", "guess"),
    ],
)
def test_what_cannot_be_read_is_bad_usage_that_names_the_option(log_dir: Path, name: str, value: str) -> None:
    with pytest.raises(BadUsage, match=f"the option {name}"):
        ranges(log_dir, **{name: value})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("startingOffsets", '{"topic": {"0": 1, "7": 1}}'),
        ("endingOffsets", '{"topic": {"7": 1}}'),
        ("startingOffsetsByTimestamp", '{"topic": {"7": 1}}'),
        ("assign", '{"topic": [0, 7]}'),
    ],
)
def test_a_partition_that_is_not_there_is_named(log_dir: Path, option: str, value: str) -> None:
    """It was passed over, and a topic whose name was mistyped was read as a whole."""
    with pytest.raises(BadUsage, match=f"^the option {option} names what is not read: topic-7$"):
        ranges(log_dir, **{option: value})


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("startingOfsets", OPTIONS, "is startingOffsets meant?"),
        ("startingOffsets", BATCH_OPTIONS, "there are path, tieredPath, subscribe, subscribePattern, assign, "),
    ],
)
def test_an_option_that_nobody_reads_is_refused(name: str, known: tuple[str, ...], said: str) -> None:
    with pytest.raises(BadUsage, match=re.escape(f"no option {name}: {said}")):
        read_options({"path": "logs", "STORE.aws_region": "eu-north-1", name: "1"}, known)
