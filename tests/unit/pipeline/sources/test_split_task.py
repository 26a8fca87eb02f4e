"""Tasks: the rows of one are in the order of their offsets, as from Spark's Kafka source."""

from pathlib import Path
from random import Random

from pyspark.sql.types import IntegerType, LongType, StructField, StructType
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.splits import OffsetsToRead, SplitPlanner
from stepdown.pipeline.sources.kafka_segments import SegmentsReader
from stepdown.pipeline.sources.options import read_options
from stepdown.pipeline.sources.split_task import make_tasks
from support.log_directories import keyed_records, write_batches

SCHEMA = StructType([StructField("partition", IntegerType()), StructField("offset", LongType())])


def test_rows_of_a_task_are_in_the_order_of_their_offsets(tmp_path: Path) -> None:
    """Splits that shared a task came by size, the largest first."""
    random, offset = Random(1), 0
    for _ in range(12):
        count = random.randint(1, 60)
        for partition in range(2):
            write_batches(tmp_path, "topic", partition, [keyed_records(offset, count)], base=offset)
        offset += count
    options = read_options({"path": str(tmp_path)})
    planner = SplitPlanner(PlaceFiles(), 1000)
    splits = [split for log in options.logs(PlaceFiles()) for split in planner.plan_splits(log, OffsetsToRead())]
    shared = make_tasks(splits, 200_000, most_alone=1)
    assert 1 < len(shared) < len(splits)
    reader, found = SegmentsReader(options, SCHEMA), []
    for task in shared:
        rows = [(row["partition"], row["offset"]) for batch in reader.read(task) for row in batch.to_pylist()]
        assert rows == sorted(rows)
        found += rows
    assert sorted(found) == [(partition, each) for partition in range(2) for each in range(offset)]
    alone = make_tasks(splits, 200_000)
    assert len(alone) == len(splits)
    assert [task.splits[0].size_bytes for task in alone] == sorted((s.size_bytes for s in splits), reverse=True)
