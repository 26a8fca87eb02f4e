"""The options of the data sources, read and checked where Spark hands them over.

Spark's options are strings, whatever their case.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...config.similar_names import nearest
from ..console_output import print_to_stderr
from ..durations import parse_seconds
from ..failures import BadUsage
from ..layouts.partition_logs import find_partition_logs
from ..places.place_files import PlaceFiles, complete_store_options, join_places, normalize, split_places
from ..reading.log_end import log_end_offset
from ..reading.partition_segments import PartitionSegments
from ..reading.split_damage import DamagePolicy
from ..reading.splits import DEFAULT_SPLIT_BYTES, MAX_OFFSET
from ..reading.transactions import LogTransactions, log_transactions
from ..values.options import OPTIONS as VALUE_OPTIONS
from ..values.options import ValueOptions, value_options
from .offset_bounds import OPTIONS as BOUND_OPTIONS
from .offset_bounds import OffsetBound, ending_bound, starting_bound

STORE_PREFIX = "store."
"""How the names of options begin that are for an object store."""

BATCH_OPTIONS = (
    *("path", "tieredPath", "subscribe", "subscribePattern", "assign", "kafka.isolation.level", "isolation.level"),
    *("maxPartitionBytes", "minPartitions", "skipCorrupt", "failOnDataLoss", "includeDamage"),
)
"""The options of `kafka-batches`."""
OPTIONS = (
    *BATCH_OPTIONS,
    *BOUND_OPTIONS,
    *("includeHeaders", "includeTimestampMs", "checkCrc", "pushdown", "maxRecordsPerPartition"),
    *("minOffsetsPerTrigger", "maxOffsetsPerTrigger", "maxTriggerDelay"),
    *VALUE_OPTIONS,
)
"""The options of `kafka-segments` for reading."""
MOST_ALONE = 1000
"""Up to this number each split is a task; of more, small ones share one: a task costs more than a small segment."""
_OF_BROKERS = ("kafka.", "kafkaconsumer.", "fetchoffset.", "groupidprefix")
"""How the connector's options begin that tell how brokers are asked."""
DEFAULT_TRIGGER_DELAY = "15m"

_SIZE = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What to read and how. `topics` is None for all but internal ones; sizes are in bytes.

    `path` is a log directory or tiered storage, `beside` the other log directories of the same broker.

    `max_records_per_partition` and `min_partitions` are of Spark's partitions, which are tasks.

    `store` are options of object stores, by obstore's names; `assigned` are the only partitions to read, by topic.

    `read_committed`: without the batches of aborted transactions, and only up to the first that is open.

    `values` says how values are decoded, None: they are not.

    `pushdown` is off unless asked for: Spark 4.2 keeps the read plan of a DataFrame, with the filters of its first
    query, for every later one, which then lacks rows (docs/decisions/pushdown.md).
    """

    path: str
    beside: tuple[str, ...] = ()
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    include_headers: bool = False
    include_timestamp_ms: bool = False
    include_damage: bool = False
    max_partition_bytes: int = DEFAULT_SPLIT_BYTES
    starting: OffsetBound = field(default_factory=lambda: starting_bound({}))
    ending: OffsetBound = field(default_factory=lambda: ending_bound({}))
    min_partitions: int = 1
    max_records_per_partition: int | None = None
    min_offsets_per_trigger: int | None = None
    max_offsets_per_trigger: int | None = None
    max_trigger_delay_s: float = 900.0
    fail_on_data_loss: bool = True
    check_crc: bool = True
    read_committed: bool = False
    pushdown: bool = False
    skip_corrupt: bool = False
    tiered_path: str | None = None
    assigned: Mapping[str, frozenset[int]] | None = None
    values: ValueOptions | None = None
    store: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def place(self) -> str:
        """The directories as one option names them."""
        return join_places((self.path, *self.beside))

    def files(self) -> PlaceFiles:
        """What reads the places of these options, on the driver and in tasks."""
        return PlaceFiles(self.store)

    def leniency(self) -> DamagePolicy:
        """What a task may pass by."""
        return DamagePolicy(skip_corrupt=self.skip_corrupt, fail_on_data_loss=self.fail_on_data_loss)

    def logs(self, files: PlaceFiles, *, all_there: bool = True) -> list[PartitionSegments]:
        """The logs to read, as `find_partition_logs` finds them; what is missing or there twice is logged."""
        pattern = None if self.pattern is None else re.compile(self.pattern)
        found = find_partition_logs(
            files,
            self.path,
            self.topics,
            beside=self.beside,
            pattern=pattern,
            tiered_path=self.tiered_path,
            all_there=all_there,
        )
        if all_there:
            self._check_partitions_are_read(found)
        if self.assigned is not None:
            found = [log for log in found if log.partition in self.assigned[log.topic]]
        for log in found:
            for note in log.notes:
                print_to_stderr(f"{log.topic}-{log.partition}: {note}")
        return found

    def _check_partitions_are_read(self, logs: Iterable[PartitionSegments]) -> None:
        """Raises: BadUsage for partitions that options name and that are not there, or not read."""
        there = {(log.topic, log.partition) for log in logs}
        assigned = {(topic, each) for topic, partitions in (self.assigned or {}).items() for each in partitions}
        bounds = (*self.starting.partitions_by_option(), *self.ending.partitions_by_option())
        for name, named in (("assign", assigned), *bounds):
            missing = ", ".join(f"{topic}-{partition}" for topic, partition in sorted(named - there))
            if missing:
                raise BadUsage(f"the option {name} names what is not read: {missing}")

    def task_bytes(self, logs: Iterable[PartitionSegments]) -> int:
        """How large a task is: `maxPartitionBytes`, or less where `minPartitions` asks for more tasks."""
        total = sum(log.bytes_to_read for log in logs) if self.min_partitions > 1 else 0
        return min(self.max_partition_bytes, total // self.min_partitions or self.max_partition_bytes)

    @property
    def most_splits_alone(self) -> int:
        """Up to how many splits are a task each."""
        if self.max_records_per_partition is not None:
            return sys.maxsize
        return max(MOST_ALONE, self.min_partitions)

    def transactions(self, files: PlaceFiles, log: PartitionSegments) -> LogTransactions:
        """What of the log is left out for its transactions: nothing with read_uncommitted. Raises: DiskFault."""
        if self.read_committed:
            return log_transactions(files, log)
        return LogTransactions(aborted=(), last_stable_offset=MAX_OFFSET)

    def end_of_reading(self, files: PlaceFiles, log: PartitionSegments) -> int:
        """Where reading ends now: at the end of the log, with read_committed at its last stable offset."""
        if self.read_committed:
            return log_transactions(files, log).last_stable_offset
        return log_end_offset(files, log)


def read_options(given: Mapping[str, str], known: Iterable[str] = OPTIONS) -> ReadOptions:
    """The options, with their defaults; `known` are those that may be given. Raises: BadUsage naming the option."""
    check_option_names(given, known)
    assigned = _parse_assign(given)
    topics = [topic.strip() for topic in given.get("subscribe", "").split(",")] if assigned is None else list(assigned)
    tiered = given.get("tieredPath")
    path, *beside = split_places(_path_option(given)) or [""]
    tiered_path = None if tiered is None else normalize(tiered)
    values = value_options(given)
    schema_path = (values.schema_path if values else None) or ""
    store = {name[len(STORE_PREFIX) :]: value for name, value in given.items() if name.lower().startswith(STORE_PREFIX)}
    return ReadOptions(
        path=path,
        beside=tuple(beside),
        tiered_path=tiered_path,
        assigned=assigned,
        values=values,
        store=complete_store_options([path, *beside, tiered_path or "", schema_path], store),
        topics=tuple(topic for topic in topics if topic) or None,
        include_headers=bool_option(given, "includeHeaders", False),
        include_timestamp_ms=bool_option(given, "includeTimestampMs", False),
        include_damage=bool_option(given, "includeDamage", False),
        max_partition_bytes=size_option(given, "maxPartitionBytes", DEFAULT_SPLIT_BYTES),
        starting=starting_bound(given),
        ending=ending_bound(given),
        pattern=_parse_pattern(given),
        min_partitions=_positive_option(given, "minPartitions") or 1,
        max_records_per_partition=_positive_option(given, "maxRecordsPerPartition"),
        min_offsets_per_trigger=_positive_option(given, "minOffsetsPerTrigger"),
        max_offsets_per_trigger=_positive_option(given, "maxOffsetsPerTrigger"),
        max_trigger_delay_s=_seconds_option(given, "maxTriggerDelay", DEFAULT_TRIGGER_DELAY),
        fail_on_data_loss=bool_option(given, "failOnDataLoss", True),
        check_crc=bool_option(given, "checkCrc", True),
        read_committed=_is_read_committed(given),
        pushdown=bool_option(given, "pushdown", False),
        skip_corrupt=bool_option(given, "skipCorrupt", False),
    )


def check_option_names(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises: BadUsage for an option that nobody reads: without it rows would not be those that were asked for."""
    names = tuple(known)
    lower = {name.lower() for name in names}
    for name in given:
        if name.lower() in lower or name.lower().startswith(STORE_PREFIX):
            continue
        near = nearest(name, names)
        hint = f"is {near} meant?" if near else f"there are {', '.join(names)}"
        if not near and name.lower().startswith(_OF_BROKERS):
            hint = "segments are read from files, no broker is asked"
        raise BadUsage(f"no option {name}: {hint}")


def require_path(given: Mapping[str, str]) -> str:
    """The option `path` without a slash at its end. Raises: BadUsage when it is missing."""
    return normalize(_path_option(given))


def _path_option(given: Mapping[str, str]) -> str:
    path = given.get("path", "")
    if not path:
        raise BadUsage("the option path is missing: the log directory")
    return path


def bool_option(given: Mapping[str, str], name: str, default: bool) -> bool:
    """A boolean option. Raises: BadUsage."""
    text = given.get(name, str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise BadUsage(f"the option {name} is true or false, not {text!r}")
    return text == "true"


def size_option(given: Mapping[str, str], name: str, default: int) -> int:
    """An option in bytes, as `32m`. Raises: BadUsage."""
    text = given.get(name, str(default)).strip()
    found = _SIZE.fullmatch(text)
    number = int(found[1]) << _UNITS[found[2].lower()] if found else 0
    if number < 1:
        raise BadUsage(f"the option {name} is a size like 32m, not {text!r}")
    return number


def _is_read_committed(given: Mapping[str, str]) -> bool:
    """Raises: BadUsage."""
    level = given.get("kafka.isolation.level", given.get("isolation.level", "read_uncommitted")).strip().lower()
    if level not in {"read_uncommitted", "read_committed"}:
        raise BadUsage(f"the option isolation.level is read_uncommitted or read_committed, not {level!r}")
    return level == "read_committed"


def _positive_option(given: Mapping[str, str], name: str) -> int | None:
    """Raises: BadUsage."""
    text = given.get(name)
    if text is None:
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise BadUsage(f"the option {name} is a number above 0, not {text!r}")
    return int(text)


def _seconds_option(given: Mapping[str, str], name: str, default: str) -> float:
    """An option that is a time, as `15m`. Raises: BadUsage."""
    text = given.get(name, default).strip().lower()
    found = parse_seconds(text)
    if found is None:
        raise BadUsage(f"the option {name} is a time like 30s or 15m, not {text!r}")
    return found


def _parse_pattern(given: Mapping[str, str]) -> str | None:
    """Raises: BadUsage."""
    text = given.get("subscribePattern")
    if text is None:
        return None
    if "subscribe" in given or "assign" in given:
        raise BadUsage("of the options subscribe, subscribePattern and assign only one is given")
    try:
        re.compile(text)
    except re.error as error:
        raise BadUsage(f"the option subscribePattern is a regular expression, not {text!r}: {error}") from None
    return text


def _parse_assign(given: Mapping[str, str]) -> Mapping[str, frozenset[int]] | None:
    """Raises: BadUsage."""
    text = given.get("assign")
    if text is None:
        return None
    if "subscribe" in given:
        raise BadUsage("of the options subscribe, subscribePattern and assign only one is given")
    try:
        return {str(topic): frozenset(map(int, partitions)) for topic, partitions in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        raise BadUsage(f'the option assign is JSON like {{"topic":[0,1]}}, not {text!r}') from None
