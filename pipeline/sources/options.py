"""The options of the data sources, read and checked where Spark hands them over.

Spark's options are strings, whatever their case.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..failures import BadUsage
from ..layouts.partition_logs import partition_logs
from ..places.place_files import PlaceFiles, located, store_options
from ..printing import say
from ..reading.partition_log import PartitionLog
from ..reading.splits import DEFAULT_SPLIT_BYTES

STORE_PREFIX = "store."
"""How the names of options begin that are for an object store."""
EARLIEST = -2
LATEST = -1

StartingOffsets = int | dict[str, dict[int, int]]

_SIZE = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What to read and how. `topics` is None for all but internal ones; sizes are in bytes.

    `store` are options of object stores, by obstore's names.

    `pushdown` is off unless asked for: Spark 4.2 keeps the read plan of a DataFrame, with the filters of its first
    query, for every later one, which then lacks rows (docs/decisions/pushdown.md).
    """

    path: str
    topics: tuple[str, ...] | None = None
    include_headers: bool = False
    max_partition_bytes: int = DEFAULT_SPLIT_BYTES
    starting_offsets: StartingOffsets = EARLIEST
    max_offsets_per_trigger: int | None = None
    fail_on_data_loss: bool = True
    check_crc: bool = True
    pushdown: bool = False
    skip_corrupt: bool = False
    tiered_path: str | None = None
    store: Mapping[str, str] = field(default_factory=dict, repr=False)

    def files(self) -> PlaceFiles:
        """What reads the places of these options, on the driver and in tasks."""
        return PlaceFiles(self.store)

    def logs(self, files: PlaceFiles, *, all_there: bool = True) -> list[PartitionLog]:
        """The logs to read, as `partition_logs` finds them; what was found missing or double is told."""
        found = partition_logs(files, self.path, self.topics, tiered_path=self.tiered_path, all_there=all_there)
        for log in found:
            for note in log.notes:
                say(f"{log.topic}-{log.partition}: {note}")
        return found


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """The options, with their defaults. Raises: BadUsage naming the option."""
    topics = [topic.strip() for topic in given.get("subscribe", "").split(",")]
    maximum = given.get("maxOffsetsPerTrigger")
    tiered = given.get("tieredPath")
    path = required_path(given)
    tiered_path = None if tiered is None else located(tiered)
    store = {name[len(STORE_PREFIX) :]: value for name, value in given.items() if name.lower().startswith(STORE_PREFIX)}
    return ReadOptions(
        path=path,
        tiered_path=tiered_path,
        store=store_options([path, tiered_path or ""], store),
        topics=tuple(topic for topic in topics if topic) or None,
        include_headers=flag(given, "includeHeaders", False),
        max_partition_bytes=size(given, "maxPartitionBytes", DEFAULT_SPLIT_BYTES),
        starting_offsets=_starting_offsets(given.get("startingOffsets", "earliest")),
        max_offsets_per_trigger=None if maximum is None else _positive("maxOffsetsPerTrigger", maximum),
        fail_on_data_loss=flag(given, "failOnDataLoss", True),
        check_crc=flag(given, "checkCrc", True),
        pushdown=flag(given, "pushdown", False),
        skip_corrupt=flag(given, "skipCorrupt", False),
    )


def required_path(given: Mapping[str, str]) -> str:
    """The option `path` without a slash at its end. Raises: BadUsage when it is missing."""
    path = given.get("path", "")
    if not path:
        raise BadUsage("the option path is missing: the log directory")
    return located(path)


def flag(given: Mapping[str, str], name: str, default: bool) -> bool:
    """A boolean option. Raises: BadUsage."""
    text = given.get(name, str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise BadUsage(f"the option {name} is true or false, not {text!r}")
    return text == "true"


def size(given: Mapping[str, str], name: str, default: int) -> int:
    """An option in bytes, as `32m`. Raises: BadUsage."""
    text = given.get(name, str(default)).strip()
    found = _SIZE.fullmatch(text)
    number = int(found[1]) << _UNITS[found[2].lower()] if found else 0
    if number < 1:
        raise BadUsage(f"the option {name} is a size like 32m, not {text!r}")
    return number


def _positive(name: str, text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise BadUsage(f"the option {name} is a number above 0, not {text!r}")
    return int(text)


def _starting_offsets(text: str) -> StartingOffsets:
    word = text.strip()
    if word.lower() in {"earliest", "latest"}:
        return EARLIEST if word.lower() == "earliest" else LATEST
    try:
        found = json.loads(word)
        return {
            str(topic): {int(partition): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in found.items()
        }
    except (ValueError, AttributeError, TypeError):
        raise BadUsage(
            'the option startingOffsets is earliest, latest or JSON like {"topic":{"0":23,"1":-2}},'
            f" -2 for earliest and -1 for latest; not {text!r}"
        ) from None


def starting_offset(options: ReadOptions, log: PartitionLog, end: Callable[[], int]) -> int:
    """The first offset to read of one log, whose end `end` tells; its earliest where JSON does not name it."""
    wanted = options.starting_offsets
    offset = wanted if isinstance(wanted, int) else wanted.get(log.topic, {}).get(log.partition, EARLIEST)
    if offset == EARLIEST:
        return log.start_offset
    return end() if offset == LATEST else offset
