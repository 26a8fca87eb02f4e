"""`_archive.json` beside the table: what was archived, and what a batch that is being written will add.

| member | what |
|---|---|
| source | settings that have to be the same in every run |
| id | the archive's own, by which a Delta table knows its batches |
| batches | how many are done |
| done | topic, partition → [next offset, topic id or null] |
| writing | topic, partition → [first offset, end (open), topic id or null] of the batch that was begun; null else |

The file is replaced at once: before a batch is written, and when it is committed. A run that died between the two is
made up for by writing the same offsets again, under the same number.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..failures import BadUsage
from ..places.place_files import PlaceFiles

FILE_NAME = "_archive.json"
MAX_BYTES = 1 << 28

TopicPartition = tuple[str, int]


class ArchivedPosition(NamedTuple):
    """The next offset to archive; a topic that was created again has another id. None: the source has no ids."""

    offset: int
    topic_id: str | None


class NewOffsets(NamedTuple):
    """Offsets from `first` to `end` (open) of one partition."""

    first: int
    end: int
    topic_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveState:
    """What `_archive.json` says."""

    source: Mapping[str, object]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    batches: int = 0
    done: Mapping[TopicPartition, ArchivedPosition] = field(default_factory=dict)
    writing: Mapping[TopicPartition, NewOffsets] | None = None

    def with_batch_open(self, writing: Mapping[TopicPartition, NewOffsets]) -> "ArchiveState":
        """With a batch that is being written."""
        return replace(self, writing=writing)

    def with_batch_done(self) -> "ArchiveState":
        """With the batch that was being written among those that are done."""
        assert self.writing is not None
        added = {key: ArchivedPosition(each.end, each.topic_id) for key, each in self.writing.items()}
        return replace(self, batches=self.batches + 1, done={**self.done, **added}, writing=None)


def read_state(files: PlaceFiles, out: str, source: Mapping[str, object]) -> ArchiveState:
    """What was archived from `source` into `out` so far. Raises: BadUsage when `out` is something else; DiskFault."""
    path = f"{out}/{FILE_NAME}"
    data = files.read_whole(path, MAX_BYTES)
    if data is None:
        return ArchiveState(source=source)
    try:
        known = json.loads(data)
        state = ArchiveState(
            source=known["source"],
            id=known["id"],
            batches=known["batches"],
            done=_parse_by_partition(known["done"], ArchivedPosition),
            writing=None if known["writing"] is None else _parse_by_partition(known["writing"], NewOffsets),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise BadUsage(f"{path} is not what this version writes ({fault!r}): archive into another folder") from fault
    if state.source != source:
        raise BadUsage(
            f"{out} is the archive of something else: {path} says {json.dumps(state.source)}, not {json.dumps(source)};"
            " if the source has only moved, change what the file says"
        )
    return state


def write_state(files: PlaceFiles, out: str, state: ArchiveState) -> None:
    """Replace the file. Raises: DiskFault."""
    known = {
        "source": state.source,
        "id": state.id,
        "batches": state.batches,
        "done": _group_by_topic(state.done),
        "writing": None if state.writing is None else _group_by_topic(state.writing),
    }
    files.make_directory(out)
    files.replace(f"{out}/{FILE_NAME}", json.dumps(known, indent=1).encode() + b"\n")


def _parse_by_partition(found: Mapping[str, Mapping[str, Any]], kind: type[Any]) -> dict[TopicPartition, Any]:
    return {
        (topic, int(partition)): kind(*fields)
        for topic, partitions in found.items()
        for partition, fields in partitions.items()
    }


def _group_by_topic(found: Mapping[TopicPartition, tuple[object, ...]]) -> dict[str, dict[str, list[object]]]:
    by_topic: dict[str, dict[str, list[object]]] = {}
    for (topic, partition), fields in sorted(found.items()):
        by_topic.setdefault(topic, {})[str(partition)] = list(fields)
    return by_topic
