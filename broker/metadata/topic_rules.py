"""What a topic may be called and how it may be laid out.

Sources: Kafka 3.9 `Topic`, `ReplicationControlManager`. With one broker every replica list is that broker alone.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...protocol.errors import ApiError, ErrorCode
from ...storage.files.file_names import fault_of_topic_name

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
METADATA_TOPIC = "__cluster_metadata"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC})

# Kafka's controller writes one record a partition and refuses requests that make more than 10,000 of them.
MAX_PARTITIONS_A_REQUEST = 10_000


def check_name(name: str) -> None:
    """Raises ApiError INVALID_TOPIC_EXCEPTION."""
    fault = fault_of_topic_name(name)
    if fault is not None:
        raise ApiError(fault, ErrorCode.INVALID_TOPIC_EXCEPTION)


def is_legal_name(name: str) -> bool:
    return fault_of_topic_name(name) is None


def metric_name(name: str) -> str:
    """The topic's name in metrics, where '.' and '_' are the same."""
    return name.replace(".", "_")


class CollisionRule:
    """Refuses topics whose name in metrics is that of another topic."""

    def __init__(self) -> None:
        self._by_metric_name: dict[str, list[str]] = {}

    def add(self, name: str) -> None:
        if "." in name or "_" in name:
            self._by_metric_name.setdefault(metric_name(name), []).append(name)

    def remove(self, name: str) -> None:
        names = self._by_metric_name.get(metric_name(name), [])
        if name in names:
            names.remove(name)
        if not names:
            self._by_metric_name.pop(metric_name(name), None)

    def ensure_distinct(self, name: str) -> None:
        """Raises ApiError INVALID_TOPIC_EXCEPTION when another topic has the same name in metrics."""
        others = self._by_metric_name.get(metric_name(name)) if "." in name or "_" in name else None
        if others and name not in others:
            raise ApiError(
                f"topic {name!r} has the same name in metrics as the existing topic {others[0]!r}",
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            )


def check_layout(partitions: int, replication_factor: int, brokers: int) -> None:
    """A number of partitions and replicas, -1 for the broker's default. Raises ApiError 37 or 38."""
    if replication_factor == 0 or replication_factor < -1:
        raise ApiError(
            f"a replication factor of at least 1 expected, or -1 for the default, found {replication_factor}",
            ErrorCode.INVALID_REPLICATION_FACTOR,
        )
    if partitions == 0 or partitions < -1:
        raise ApiError(
            f"at least 1 partition expected, or -1 for the default number, found {partitions}",
            ErrorCode.INVALID_PARTITIONS,
        )
    if replication_factor > brokers:
        raise ApiError(
            f"{replication_factor} replicas need as many brokers, there are {brokers}",
            ErrorCode.INVALID_REPLICATION_FACTOR,
        )


def check_assignments(assignments: Mapping[int, Sequence[int]], brokers: Iterable[int]) -> None:
    """Replica lists by partition of a new topic. Raises ApiError 39."""
    check_replica_lists(list(assignments.values()), brokers)
    if sorted(assignments) != list(range(len(assignments))):
        raise ApiError(
            f"partitions 0 to {len(assignments) - 1} expected without a gap, found {sorted(assignments)[:10]}",
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        )


def check_replica_lists(
    lists: Sequence[Sequence[int]], brokers: Iterable[int], replication_factor: int | None = None
) -> None:
    """Each list names different, existing brokers, as many as the others. Raises ApiError 39."""
    known = set(brokers)
    for replicas in lists:
        fault = None
        if not replicas:
            fault = "a partition without replicas"
        elif unknown := sorted(set(replicas) - known):
            fault = f"there is no broker {unknown[0]}"
        elif len(set(replicas)) < len(replicas):
            fault = f"a broker is named twice for one partition: {list(replicas)[:10]}"
        elif replication_factor is not None and len(replicas) != replication_factor:
            fault = f"{replication_factor} replicas expected as for the other partitions, found {len(replicas)}"
        if fault is not None:
            raise ApiError(f"replica assignment: {fault}", ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        replication_factor = len(replicas)


def check_new_partition_count(partitions: int) -> None:
    """Raises ApiError POLICY_VIOLATION when one request makes more partitions than are made at a time."""
    if partitions > MAX_PARTITIONS_A_REQUEST:
        raise ApiError(
            f"one request makes at most {MAX_PARTITIONS_A_REQUEST} partitions, this one asks for {partitions}",
            ErrorCode.POLICY_VIOLATION,
        )
