"""Losses of a log as a whole, which its segments do not show: all of its files, or its end."""

from collections.abc import Iterator

from ...storage.files.checkpoint_file import RECOVERY_POINTS
from ..places.place_files import PlaceFiles
from .damage import MISSING, Damage, missing_offsets_damage
from .log_end import log_end_offset
from .partition_segments import PartitionSegments

HAD_THEM = f"{RECOVERY_POINTS} says that the log had them"


def loss_of_whole_log(log: PartitionSegments, first: int) -> Damage:
    """The damage of a log that has no segments: all offsets from `first` on are lost."""
    what = "no segment files" if log.named_by is None else f"no folder here, and {log.named_by} names it"
    return Damage(
        topic=log.topic,
        partition=log.partition,
        kind=MISSING,
        reason=f"the partition has {what}",
        file=log.directory,
        first_offset=first,
        end_offset=log.known_end or None,
    )


def find_lost_log_or_tail(files: PlaceFiles, log: PartitionSegments) -> Iterator[Damage]:
    """Yield the loss of a log that has no segments, or ends before what it is known to have reached."""
    if not log.segments:
        yield loss_of_whole_log(log, log.start_offset)
    elif log.known_end:
        end = max(log_end_offset(files, log), log.start_offset)
        if end < log.known_end:
            yield missing_offsets_damage(
                log.topic, log.partition, end, log.known_end, HAD_THEM, file=log.segments[-1].path
            )
