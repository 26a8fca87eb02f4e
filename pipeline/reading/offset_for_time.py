"""The first offset at or after a time, as ListOffsets finds it: segments by their time index, then records."""

from dataclasses import replace

import numpy as np

from ...protocol.records.columns import WantedRows
from ..places.place_files import PlaceFiles
from .index_files import offset_before_time
from .partition_segments import PartitionSegments
from .split_damage import DamagePolicy
from .split_rows import SplitRows
from .splits import OffsetsToRead, SplitPlanner

PIECE_BYTES = 1 << 20


def offset_for_time(files: PlaceFiles, log: PartitionSegments, time_ms: int) -> int | None:
    """The offset of the first record with this timestamp (ms) or a later one, None where there is none.

    Raises: PipelineFailure, DiskFault.
    """
    planner = SplitPlanner(files, PIECE_BYTES, time_ms)
    for segment in log.segments:
        before = offset_before_time(files, segment, time_ms)
        start = log.start_offset if before is None else max(log.start_offset, before + 1)
        for split in planner.plan_splits(replace(log, segments=(segment,), start_offset=start), OffsetsToRead()):
            wanted = WantedRows(first_offset=start, min_timestamp=time_ms, key=False, value=False)
            for columns in SplitRows(files, split, wanted, DamagePolicy(follows_offsets=False)):
                late = np.flatnonzero(np.frombuffer(columns.timestamps_buffer, np.int64, columns.rows) >= time_ms)
                if len(late):
                    return int(np.frombuffer(columns.offsets_buffer, np.int64, columns.rows)[late[0]])
    return None
