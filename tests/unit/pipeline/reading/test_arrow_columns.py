"""Rows as Arrow batches."""

import subprocess
import sys

from stepdown.pipeline.reading.arrow_columns import ArrowBatchMaker
from stepdown.pipeline.reading.split_rows import allocate_without_clearing
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.columns import ColumnFiller, WantedRows
from stepdown.protocol.records.record import Record
from support.deadline import DEADLINE_S
from support.log_directories import keyed_records

NAMES = ("topic", "partition", "offset")
WITHOUT_PANDAS = """
import sys
from stepdown.pipeline.reading.arrow_columns import ArrowBatchMaker
from stepdown.protocol.records.columns import ColumnFiller, WantedRows
batch = ArrowBatchMaker(sys.argv[1:], "topic", 3).make_record_batch(ColumnFiller(WantedRows()).columns)
assert batch.num_rows == 0
assert "pandas" not in sys.modules, "each worker of Spark would import it"
"""


def filled(count: int) -> ColumnFiller:
    filler = ColumnFiller(WantedRows(), allocate_without_clearing)
    assert list(filler.fill(memoryview(build_batch(keyed_records(0, count)))))
    return filler


def test_topic_and_partition_are_repeated_for_batches_of_any_size() -> None:
    rows = ArrowBatchMaker(NAMES, "größer", 3)
    for count in (2, 5, 1):
        assert rows.make_record_batch(filled(count).columns).to_pylist() == [
            {"topic": "größer", "partition": 3, "offset": offset} for offset in range(count)
        ]


def test_pandas_is_not_imported() -> None:
    words = [sys.executable, "-c", WITHOUT_PANDAS, *NAMES]
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr


def test_a_time_that_spark_cannot_hold_is_null_and_its_number_a_column() -> None:
    """A record of a producer that writes nanoseconds ended every query over its directory."""
    times = [1_700_000_000_000, 1_700_000_000_000_000_000, -1]
    records = [Record(offset=at, timestamp=time, value=b"") for at, time in enumerate(times)]
    filler = ColumnFiller(WantedRows(), allocate_without_clearing)
    assert list(filler.fill(memoryview(build_batch(records))))
    rows = ArrowBatchMaker(("timestamp", "timestampMs"), "topic", 0).make_record_batch(filler.columns)
    assert rows.column("timestampMs").to_pylist() == times
    assert [time is None for time in rows.column("timestamp").to_pylist()] == [False, True, False]
