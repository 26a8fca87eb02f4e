"""Where reading starts and ends, by the options of Spark's Kafka source, whose names and JSON these are.

| option | value |
|---|---|
| startingOffsets, endingOffsets | `earliest` (no end), `latest`, `{"topic":{"0":23,"1":-2}}`: -2 earliest, -1 latest |
| startingTimestamp, endingTimestamp | milliseconds since 1970, for all partitions |
| startingOffsetsByTimestamp, endingOffsetsByTimestamp | `{"topic":{"0":1700000000000}}` |
| startingOffsetsByTimestampStrategy | `error` or `latest`, where no record is so late |

A timestamp takes precedence over offsets, and one for all partitions over those by partition. The ending offset is not
read. A partition that JSON does not name is read from its earliest offset to its latest.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..failures import BadUsage, PipelineFailure
from ..places.place_files import PlaceFiles
from ..reading.offset_for_time import offset_for_time
from ..reading.partition_segments import PartitionSegments
from ..reading.splits import MAX_OFFSET

OPTIONS = (
    *("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"),
    *("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"),
)
EARLIEST = -2
LATEST = -1

ByPartition = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetBound:
    """The `starting` or `ending` of what is read. A number is for all partitions; `times` (ms) win over `offsets`."""

    end: str
    offsets: int | ByPartition
    times: int | ByPartition | None = None
    late_is_error: bool = False

    def offset(self, files: PlaceFiles, log: PartitionSegments, default: int) -> int:
        """The offset of one log, -2 for the earliest, -1 for the latest; `default` where JSON does not name it.

        Raises: PipelineFailure for a time behind all records, unless that counts as the latest.
        """
        if self.times is not None:
            time_ms = _value_for_log(self.times, log, -1)
            if time_ms >= 0:
                return self._offset_for_time(files, log, time_ms)
            return default
        return _value_for_log(self.offsets, log, default)

    def partitions_by_option(self) -> Iterator[tuple[str, set[tuple[str, int]]]]:
        """Yield options, and the topics and partitions that their JSON names."""
        for name, values in ((f"{self.end}Offsets", self.offsets), (f"{self.end}OffsetsByTimestamp", self.times)):
            if isinstance(values, Mapping):
                yield name, {(topic, partition) for topic, partitions in values.items() for partition in partitions}

    def _offset_for_time(self, files: PlaceFiles, log: PartitionSegments, time_ms: int) -> int:
        found = offset_for_time(files, log, time_ms)
        if found is None and self.late_is_error:
            raise PipelineFailure(
                f"{log.topic}-{log.partition} has no record at {time_ms} ms or later;"
                " startingOffsetsByTimestampStrategy=latest starts at its end"
            )
        return LATEST if found is None else found


def first_offset(bound: OffsetBound, files: PlaceFiles, log: PartitionSegments, log_end: Callable[[], int]) -> int:
    """The first offset to read of a log; `log_end` tells where it ends."""
    offset = bound.offset(files, log, EARLIEST)
    if offset == EARLIEST:
        return log.start_offset
    return log_end() if offset == LATEST else offset


def end_offset(bound: OffsetBound, files: PlaceFiles, log: PartitionSegments) -> int:
    """The offset where reading a log ends (open)."""
    offset = bound.offset(files, log, LATEST)
    return MAX_OFFSET if offset == LATEST else offset


def starting_bound(given: Mapping[str, str]) -> OffsetBound:
    """The options of the start. Raises: BadUsage."""
    strategy = given.get("startingOffsetsByTimestampStrategy", "error").strip().lower()
    if strategy not in {"error", "latest"}:
        raise BadUsage(f"the option startingOffsetsByTimestampStrategy is error or latest, not {strategy!r}")
    words = {"earliest": EARLIEST, "latest": LATEST}
    offsets = _parse_offsets("startingOffsets", given.get("startingOffsets", "earliest"), words)
    times = _parse_times(given, "starting")
    return OffsetBound(end="starting", offsets=offsets, times=times, late_is_error=strategy == "error")


def ending_bound(given: Mapping[str, str]) -> OffsetBound:
    """The options of the end. Raises: BadUsage."""
    offsets = _parse_offsets("endingOffsets", given.get("endingOffsets", "latest"), {"latest": LATEST})
    return OffsetBound(end="ending", offsets=offsets, times=_parse_times(given, "ending"))


def _value_for_log(values: int | ByPartition, log: PartitionSegments, default: int) -> int:
    return values if isinstance(values, int) else values.get(log.topic, {}).get(log.partition, default)


def _parse_offsets(name: str, text: str, words: Mapping[str, int]) -> int | ByPartition:
    word = text.strip().lower()
    if word in words:
        return words[word]
    expected = f'{", ".join(words)} or JSON like {{"topic":{{"0":23,"1":-1}}}}'
    return _parse_by_partition(name, text, expected, lowest=min(words.values()))


def _parse_times(given: Mapping[str, str], end: str) -> int | ByPartition | None:
    everywhere = given.get(f"{end}Timestamp")
    if everywhere is not None:
        if not everywhere.strip().isdecimal():
            raise BadUsage(f"the option {end}Timestamp is in milliseconds since 1970, not {everywhere!r}")
        return int(everywhere)
    name = f"{end}OffsetsByTimestamp"
    if name not in given:
        return None
    return _parse_by_partition(name, given[name], 'JSON like {"topic":{"0":1700000000000}}', lowest=0)


def _parse_by_partition(name: str, text: str, expected: str, *, lowest: int) -> ByPartition:
    """Numbers of JSON by topic and partition. Raises: BadUsage, naming the partition of a number below `lowest`."""
    try:
        found = {
            str(topic): {int(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in json.loads(text).items()
        }
    except (ValueError, AttributeError, TypeError):
        raise BadUsage(f"the option {name} is {expected}, -2 for earliest and -1 for latest; not {text!r}") from None
    for topic, partitions in found.items():
        for partition, number in partitions.items():
            if number < lowest:
                raise BadUsage(f"the option {name}: {topic}-{partition} has {number}, and {lowest} is the least")
    return found
