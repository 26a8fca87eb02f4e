"""The rows that a job reads of a log directory, split by split as its tasks do."""

from stepdown.pipeline.layouts.partition_logs import find_partition_logs
from stepdown.pipeline.places.place_files import PlaceFiles
from stepdown.pipeline.reading.split_damage import DamagePolicy
from stepdown.pipeline.reading.split_rows import SplitRows
from stepdown.pipeline.reading.splits import OffsetsToRead, SplitPlanner
from stepdown.protocol.records.columns import WantedRows


def offsets_of(files: PlaceFiles, path: str, wanted: OffsetsToRead, *, split_bytes: int) -> list[int]:
    """The offsets of the wanted rows, log by log."""
    found = []
    for log in find_partition_logs(files, path):
        for split in SplitPlanner(files, split_bytes).plan_splits(log, wanted):
            asked = WantedRows(first_offset=split.first_offset, end_offset=split.end_offset)
            for columns in SplitRows(files, split, asked, DamagePolicy()):
                found += memoryview(columns.offsets_buffer).cast("q")[: columns.rows].tolist()
    return found
