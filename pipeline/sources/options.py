"""The options of the data sources, read and checked where Spark hands them over.

Spark's options are strings, whatever their case.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...config.similar_names import nearest
from ..console_output import say
from ..failures import BadUsage
from ..layouts.partition_logs import partition_logs
from ..places.place_files import PlaceFiles, normalize, store_options
from ..reading.log_end import log_end_offset
from ..reading.partition_segments import PartitionSegments
from ..reading.splits import DEFAULT_SPLIT_BYTES, MAX_OFFSET
from ..reading.transactions import LogTransactions, log_transactions
from ..values.options import OPTIONS as VALUE_OPTIONS
from ..values.options import ValueOptions, value_options
from .offset_bounds import OPTIONS as BOUND_OPTIONS
from .offset_bounds import OffsetBound, ending_bound, starting_bound

STORE_PREFIX = "store."
"""How the names of options begin that are for an object store."""

BATCH_OPTIONS = ("path", "tieredPath", "subscribe", "assign", "maxPartitionBytes", "skipCorrupt", "isolation.level")
"""Of `kafka-batches`."""
OPTIONS = (
    *BATCH_OPTIONS,
    *BOUND_OPTIONS,
    *("includeHeaders", "includeTimestampMs", "failOnDataLoss", "checkCrc", "pushdown", "maxOffsetsPerTrigger"),
    *VALUE_OPTIONS,
)
"""Of `kafka-segments`, reading."""

_SIZE = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What to read and how. `topics` is None for all but internal ones; sizes are in bytes.

    `store` are options of object stores, by obstore's names; `assigned` are the only partitions to read, by topic.

    `read_committed`: without the batches of aborted transactions, and only up to the first that is open.

    `values` says how values are decoded, None: they are not.

    `pushdown` is off unless asked for: Spark 4.2 keeps the read plan of a DataFrame, with the filters of its first
    query, for every later one, which then lacks rows (docs/decisions/pushdown.md).
    """

    path: str
    topics: tuple[str, ...] | None = None
    include_headers: bool = False
    include_timestamp_ms: bool = False
    max_partition_bytes: int = DEFAULT_SPLIT_BYTES
    starting: OffsetBound = field(default_factory=lambda: starting_bound({}))
    ending: OffsetBound = field(default_factory=lambda: ending_bound({}))
    max_offsets_per_trigger: int | None = None
    fail_on_data_loss: bool = True
    check_crc: bool = True
    read_committed: bool = False
    pushdown: bool = False
    skip_corrupt: bool = False
    tiered_path: str | None = None
    assigned: Mapping[str, frozenset[int]] | None = None
    values: ValueOptions | None = None
    store: Mapping[str, str] = field(default_factory=dict, repr=False)

    def files(self) -> PlaceFiles:
        """What reads the places of these options, on the driver and in tasks."""
        return PlaceFiles(self.store)

    def logs(self, files: PlaceFiles, *, all_there: bool = True) -> list[PartitionSegments]:
        """The logs to read, as `partition_logs` finds them; what is missing or there twice is logged."""
        found = partition_logs(files, self.path, self.topics, tiered_path=self.tiered_path, all_there=all_there)
        if all_there:
            self._check_names(found)
        if self.assigned is not None:
            found = [log for log in found if log.partition in self.assigned[log.topic]]
        for log in found:
            for note in log.notes:
                say(f"{log.topic}-{log.partition}: {note}")
        return found

    def _check_names(self, logs: Iterable[PartitionSegments]) -> None:
        """Raises: BadUsage for partitions that options name and that are not there, or not read."""
        there = {(log.topic, log.partition) for log in logs}
        assigned = {(topic, each) for topic, partitions in (self.assigned or {}).items() for each in partitions}
        for name, named in (("assign", assigned), *self.starting.by_option(), *self.ending.by_option()):
            missing = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(named - there))
            if missing:
                raise BadUsage(f"the option {name} names what is not read: {missing}")

    def transactions(self, files: PlaceFiles, log: PartitionSegments) -> LogTransactions:
        """What of the log is left out for its transactions: nothing with read_uncommitted. Raises: DiskFault."""
        if self.read_committed:
            return log_transactions(files, log)
        return LogTransactions(aborted=(), last_stable_offset=MAX_OFFSET)

    def log_end(self, files: PlaceFiles, log: PartitionSegments) -> int:
        """Where reading ends now: at the end of the log, with read_committed at its last stable offset."""
        if self.read_committed:
            return log_transactions(files, log).last_stable_offset
        return log_end_offset(files, log)


def read_options(given: Mapping[str, str], known: Iterable[str] = OPTIONS) -> ReadOptions:
    """The options, with their defaults; `known` are those that may be given. Raises: BadUsage naming the option."""
    check_names(given, known)
    assigned = _parse_assign(given)
    topics = [topic.strip() for topic in given.get("subscribe", "").split(",")] if assigned is None else list(assigned)
    maximum = given.get("maxOffsetsPerTrigger")
    tiered = given.get("tieredPath")
    path = require_path(given)
    tiered_path = None if tiered is None else normalize(tiered)
    values = value_options(given)
    schema_path = (values.schema_path if values else None) or ""
    store = {name[len(STORE_PREFIX) :]: value for name, value in given.items() if name.lower().startswith(STORE_PREFIX)}
    return ReadOptions(
        path=path,
        tiered_path=tiered_path,
        assigned=assigned,
        values=values,
        store=store_options([path, tiered_path or "", schema_path], store),
        topics=tuple(topic for topic in topics if topic) or None,
        include_headers=flag(given, "includeHeaders", False),
        include_timestamp_ms=flag(given, "includeTimestampMs", False),
        max_partition_bytes=size(given, "maxPartitionBytes", DEFAULT_SPLIT_BYTES),
        starting=starting_bound(given),
        ending=ending_bound(given),
        max_offsets_per_trigger=None if maximum is None else _positive("maxOffsetsPerTrigger", maximum),
        fail_on_data_loss=flag(given, "failOnDataLoss", True),
        check_crc=flag(given, "checkCrc", True),
        read_committed=_is_read_committed(given),
        pushdown=flag(given, "pushdown", False),
        skip_corrupt=flag(given, "skipCorrupt", False),
    )


def check_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises: BadUsage for an option that nobody reads: without it rows would not be those that were asked for."""
    names = tuple(known)
    lower = {name.lower() for name in names}
    for name in given:
        if name.lower() in lower or name.lower().startswith(STORE_PREFIX):
            continue
        near = nearest(name.removeprefix("kafka."), names)
        hint = f"is {near} meant?" if near else f"there are {', '.join(names)}"
        raise BadUsage(f"no option {name}: {hint}")


def require_path(given: Mapping[str, str]) -> str:
    """The option `path` without a slash at its end. Raises: BadUsage when it is missing."""
    path = given.get("path", "")
    if not path:
        raise BadUsage("the option path is missing: the log directory")
    return normalize(path)


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


def _is_read_committed(given: Mapping[str, str]) -> bool:
    """Raises: BadUsage."""
    level = given.get("isolation.level", "read_uncommitted").strip().lower()
    if level not in {"read_uncommitted", "read_committed"}:
        raise BadUsage(f"the option isolation.level is read_uncommitted or read_committed, not {level!r}")
    return level == "read_committed"


def _positive(name: str, text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise BadUsage(f"the option {name} is a number above 0, not {text!r}")
    return int(text)


def _parse_assign(given: Mapping[str, str]) -> Mapping[str, frozenset[int]] | None:
    """Raises: BadUsage."""
    text = given.get("assign")
    if text is None:
        return None
    if "subscribe" in given:
        raise BadUsage("the options assign and subscribe do not go together")
    try:
        return {str(topic): frozenset(map(int, partitions)) for topic, partitions in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        raise BadUsage(f'the option assign is JSON like {{"topic":[0,1]}}, not {text!r}') from None
