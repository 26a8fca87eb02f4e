"""Which neighbouring segments compaction merges into one, so that cleaned segments do not become ever smaller.

Before cleaning, the segments of a group and their indexes together must not exceed the limits of one segment, and they
span at most 2^31-1 offsets.
Source: Kafka 3.9, Cleaner.groupSegmentsBySize.
"""

from collections.abc import Sequence

from ..log.log_config import LogConfig
from ..log.segment import MAX_RELATIVE_OFFSET, Segment


def group_segments(segments: Sequence[Segment], end: int, config: LogConfig) -> list[list[Segment]]:
    """The groups, in the order of the log; offsets of the last segment are below `end`."""
    groups: list[list[Segment]] = []
    for at, segment in enumerate(segments):
        last_offset = (segments[at + 1].base_offset if at + 1 < len(segments) else end) - 1
        if groups and _fits(groups[-1], segment, last_offset, config):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(group: Sequence[Segment], segment: Segment, last_offset: int, config: LogConfig) -> bool:
    together = [*group, segment]
    if sum(each.size for each in together) > config.segment_bytes:
        return False
    if sum(each.offset_index.size_bytes for each in together) > config.segment_index_bytes:
        return False
    if sum(each.time_index.size_bytes for each in together) > config.segment_index_bytes:
        return False
    return not segment.size or last_offset - group[0].base_offset <= MAX_RELATIVE_OFFSET
