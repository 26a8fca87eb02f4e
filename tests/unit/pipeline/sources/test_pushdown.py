"""Whatever filters are pushed: what the reader yields and Spark keeps of it is what Spark keeps of a full read."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from operator import eq, ge, gt, le, lt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from stepdown.pipeline.sources.kafka_segments import FilterPushingReader, KafkaSegments
from stepdown.protocol.records.layout import Codec
from support.arrow_rows import rows, write, writer
from support.log_variety import varied
from support.segments import START_MS

Row = Mapping[str, Any]

COUNT = 60
START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
FORMATS = {"zero": (0, Codec.NONE), "one": (1, Codec.GZIP), "two": (2, Codec.NONE), "packed": (2, Codec.LZ4)}
COMPARISONS: dict[type[Filter], Callable[[Any, Any], bool]] = {
    EqualTo: eq,
    LessThan: lt,
    LessThanOrEqual: le,
    GreaterThan: gt,
    GreaterThanOrEqual: ge,
}


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two partitions of each format in many small segments; offsets with gaps, times that go up and down."""
    assert START.timestamp() * 1000 == START_MS
    folder = tmp_path_factory.mktemp("log-dir")
    for topic, (magic, codec) in FORMATS.items():
        for partition in (0, 1):
            records = varied(partition * 20, COUNT, step=1 + partition)
            values = ((topic, partition, record.offset, record.timestamp * 1000, record.value) for record in records)
            batch = rows(*values, names="topic partition offset timestamp value")
            options = {"magic": str(magic), "codec": codec.name.lower(), "batchBytes": "100", "segmentBytes": "1500"}
            write(writer(folder, **options), [batch])
    assert len(list(folder.glob("two-0/*.log"))) > 4
    return folder


@pytest.fixture(scope="module")
def everything(log_dir: Path) -> list[Row]:
    found = read(log_dir, [])[0]
    assert len(found) == 2 * COUNT * len(FORMATS)
    return found


def read(log_dir: Path, filters: list[Filter], **options: str) -> tuple[list[Row], list[Filter]]:
    """The rows that the reader yields, in their order by partition and offset, and what Spark still has to look at."""
    source = KafkaSegments(CaseInsensitiveDict({"path": str(log_dir), "pushdown": "true", **options}))
    reader = source.reader(source.schema())
    assert isinstance(reader, FilterPushingReader)
    left = list(reader.pushFilters(filters))
    batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    found: list[Row] = pa.Table.from_batches(batches).to_pylist() if batches else []
    return sorted(found, key=lambda row: (row["topic"], row["partition"], row["offset"])), left


def kept(found: Iterable[Row], filters: Iterable[Filter]) -> list[Row]:
    """What Spark keeps; a comparison with null keeps nothing."""
    filters = list(filters)
    return [row for row in found if all(is_true(each, row) for each in filters)]


def is_true(each: Filter, row: Row) -> bool:
    match each:
        case Not(child=child):
            return not is_true(child, row)
        case IsNotNull(attribute=(name,)):
            return row[name] is not None
        case In(attribute=(name,), value=values):
            return row[name] in [value for value in values if value is not None]
    value, wanted = row[each.attribute[0]], each.value  # type: ignore[attr-defined]
    return value is not None and wanted is not None and COMPARISONS[type(each)](value, wanted)


def comparisons(
    column: str, values: st.SearchStrategy[Any], kinds: Iterable[type[Filter]]
) -> st.SearchStrategy[Filter]:
    return st.builds(lambda kind, value: kind((column,), value), st.sampled_from(list(kinds)), values)


topics = st.sampled_from([*FORMATS, "absent"])
partitions = st.integers(-1, 2)
offsets = st.integers(-3, 150)
times = st.builds(
    lambda ms, us: START + timedelta(milliseconds=ms, microseconds=us),
    st.integers(-2, 100_002),
    st.sampled_from([0, 0, 1, 999]),
) | st.just(datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC))
filters = st.one_of(
    comparisons("topic", topics, COMPARISONS),
    comparisons("partition", partitions, COMPARISONS),
    comparisons("offset", offsets, COMPARISONS),
    comparisons("timestamp", times, COMPARISONS),
    comparisons("offset", st.lists(offsets | st.none(), max_size=3).map(tuple), [In]),
    comparisons("topic", st.lists(topics | st.none(), max_size=3).map(tuple), [In]),
    comparisons("partition", st.lists(partitions, min_size=1, max_size=3).map(tuple), [In]),
    comparisons("offset", offsets, [EqualTo, LessThan]).map(Not),
    comparisons("value", st.just(b""), [EqualTo]),
    st.just(IsNotNull(("value",))),
    st.just(EqualTo(("offset",), None)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(filters, max_size=4), st.sampled_from(["300", "2k", "32m"]))
@example([GreaterThanOrEqual(("timestamp",), START + timedelta(seconds=90))], "32m")
@example([EqualTo(("timestamp",), START + timedelta(milliseconds=7919))], "300")
@example([GreaterThan(("offset",), 40)], "300")  # a split that begins with messages before it
def test_pushed_filters_give_the_rows_of_a_full_read(
    log_dir: Path, everything: list[Row], pushed: list[Filter], split_bytes: str
) -> None:
    found, left = read(log_dir, pushed, maxPartitionBytes=split_bytes)
    assert kept(found, left) == kept(everything, pushed)


@pytest.mark.parametrize("split_bytes", ["300", "32m"])
def test_reading_may_begin_at_any_offset(log_dir: Path, everything: list[Row], split_bytes: str) -> None:
    """Where offsets have holes, batches before the first wanted one were told to be in two segments (magic 0 and 1)."""
    for offset in range(37, 44):
        pushed: list[Filter] = [GreaterThan(("offset",), offset), LessThan(("offset",), offset + 9)]
        assert read(log_dir, pushed, maxPartitionBytes=split_bytes)[0] == kept(everything, pushed)


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("damage", ["missing", "zeros", "empty"])
def test_filters_need_no_index(tmp_path: Path, log_dir: Path, everything: list[Row], suffix: str, damage: str) -> None:
    for path in (path for path in log_dir.rglob("*") if path.is_file()):
        copy = tmp_path / path.relative_to(log_dir)
        copy.parent.mkdir(exist_ok=True)
        data = path.read_bytes()
        if path.suffix == f".{suffix}":
            if damage == "missing":
                continue
            data = bytes(240) if damage == "zeros" else b""
        copy.write_bytes(data)
    pushed: list[Filter] = [
        GreaterThan(("offset",), 33),
        LessThan(("offset",), 71),
        GreaterThanOrEqual(("timestamp",), START + timedelta(seconds=40)),
    ]
    found, left = read(tmp_path, pushed, maxPartitionBytes="300")
    assert kept(found, left) == kept(everything, pushed)


def test_pushed_filters_leave_most_of_a_directory_unread(log_dir: Path) -> None:
    found, left = read(log_dir, [EqualTo(("topic",), "two"), EqualTo(("partition",), 0), GreaterThan(("offset",), 57)])
    assert ([row["offset"] for row in found], left) == ([58, 59], [])
