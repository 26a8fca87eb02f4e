"""Reads partitions for a fetch within its limits, and decides when there is enough to answer.

Rules (Kafka 3.9 `ReplicaManager.readFromLog`):
- Partitions are read in the order asked for; each gets min(its own limit, what is left of the response's limit).
- From Fetch v3 on (KIP-74) the first partition with records gives at least one whole batch, above any limit.
  Before v3, limits are hard and a batch may be cut.
- The leader serves all; a follower serves consumers from v11 on. A consumer may be sent on to a follower in its rack,
and gets no records then (KIP-392).
- Consumers see records below the high watermark, or the last stable offset if read_committed; followers see all.
- Sizes are those of stored bytes, before any conversion.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from ...network.turn import Turn
from ...protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from ...protocol.errors import ApiError, ErrorCode
from ...storage.files.file_slice import EMPTY_SLICE, FileSlice
from ..metadata.image import MetadataImage, Topic
from ..metadata.partition import READ_COMMITTED, Partition
from ..security.authorization.access import EVERYTHING, Access
from .session import Interest

FIRST_VERSION_WITH_SOFT_LIMITS = 3
FIRST_VERSION_FROM_FOLLOWERS = 11
NOBODY = -1
PARTITIONS_A_STEP = 16


class FetchParams:
    """The parameters of a whole fetch, and what follows from them.

    `rack`: the consumer's rack if replicas are chosen by racks. `target_magic`: the newest magic that a client of this
    version reads; None if it reads all.
    """

    __slots__ = (
        "access",
        "is_follower",
        "isolation_level",
        "limits_are_soft",
        "max_bytes",
        "may_read_followers",
        "min_bytes",
        "rack",
        "reads_committed",
        "replica_id",
        "target_magic",
        "version",
    )

    def __init__(
        self, version: int, replica_id: int, isolation_level: int, max_bytes: int, min_bytes: int, access: Access,
        rack: str,
    ) -> None:  # fmt: skip
        self.version = version
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.max_bytes = max_bytes
        self.min_bytes = min_bytes
        self.access = access
        self.rack = rack
        self.is_follower = replica_id >= 0
        self.reads_committed = isolation_level == READ_COMMITTED
        self.limits_are_soft = version >= FIRST_VERSION_WITH_SOFT_LIMITS
        self.may_read_followers = version >= FIRST_VERSION_FROM_FOLLOWERS and not self.is_follower
        self.target_magic = None if version >= 4 else 1 if version >= 2 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """Where a client's log diverges from ours: the largest epoch that both have, and its end offset here (KIP-595)."""

    epoch: int
    end_offset: int


@dataclass(slots=True)
class PartitionReading:
    """The result of reading one partition for a fetch. Offsets are -1 when an error leaves them unknown.

    `limit_bytes` is the partition's limit, or what is left of the response's limit. `ends_wait`: there is an error, a
    divergence or a preferred replica, with which the fetch is answered at once.
    """

    interest: Interest
    limit_bytes: int = 0
    topic: Topic | None = None
    partition: Partition | None = None
    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    slice: FileSlice = EMPTY_SLICE
    divergence: Divergence | None = None
    preferred_replica: int = NOBODY
    ends_wait: bool = False


def find_topic(cluster: MetadataImage, interest: Interest) -> Topic:
    """The topic, by id where one is given. Raises ApiError UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION."""
    if interest.topic_id.int:
        topic = cluster.topic_of(interest.topic_id)
        if topic is None:
            raise ApiError(f"no topic has the id {interest.topic_id}", ErrorCode.UNKNOWN_TOPIC_ID)
        return topic
    found = cluster.topics.get(interest.topic)
    if found is None:
        raise ApiError(f"no topic {interest.topic}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return found


def _find_readable_topic(cluster: MetadataImage, interest: Interest, access: Access, *, is_follower: bool) -> Topic:
    """As `find_topic`, for a client that may read the topic. Others get the same error for a topic that does not exist.

    Followers need CLUSTER_ACTION (CVE-2018-1288: a client that claimed to be a follower could read anything, and report
    progress that it had not made).
    """
    if is_follower and not access.may(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
        raise ApiError("CLUSTER_ACTION is not allowed", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if not is_follower:
        name = find_topic(cluster, interest).name if interest.topic_id.int else interest.topic
        access.ensure_allows(AclOperation.READ, ResourceType.TOPIC, name)
    return find_topic(cluster, interest)


async def read_all(
    cluster: MetadataImage, interests: Sequence[Interest], params: FetchParams, turn: Turn
) -> list[PartitionReading]:
    """Reads each interest, in order and in turns; returns a `PartitionReading` for each."""
    readings: list[PartitionReading] = []
    taken = 0
    for at in range(0, len(interests), PARTITIONS_A_STEP):
        few = read_at_once(cluster, interests[at : at + PARTITIONS_A_STEP], params, taken)
        taken += sum(reading.slice.size_bytes for reading in few)
        readings += few
        await turn.next()
    return readings


def read_at_once(
    cluster: MetadataImage, interests: Sequence[Interest], params: FetchParams, taken: int = 0
) -> list[PartitionReading]:
    """As `read_all`, without a turn; the bytes that other partitions have `taken` count towards the limits."""
    left = max(0, params.max_bytes - taken)
    is_soft = params.limits_are_soft
    allow_partial, owes_one_batch = not is_soft, is_soft and not taken
    readings = []
    for interest in interests:
        reading = PartitionReading(interest, min(interest.max_bytes, left))
        try:
            _read_partition(cluster, reading, params, reading.limit_bytes, owes_one_batch, allow_partial)
        except ApiError as error:
            reading.error, reading.ends_wait = error.code, True
        size = reading.slice.size_bytes
        if size:
            owes_one_batch = False
            left = max(0, left - size)
        readings.append(reading)
    return readings


class DelayedFetch:
    """Whether the wait of a parked fetch is over: enough bytes are there, or an error or other news for the client.

    The sizes add up what each partition could give on its own. The wait is also over when a slice can no longer grow:
    visible data goes on in the next segment, or ends before the offset, as after a truncation (Kafka: `DelayedFetch`).
    After an event on one partition only that one is read again: a fetch may have thousands.
    """

    def __init__(self, cluster: MetadataImage, readings: Sequence[PartitionReading], params: FetchParams) -> None:
        self._cluster, self._params = cluster, params
        self._interests: dict[Hashable, Interest] = {
            reading.partition.key: reading.interest for reading in readings if reading.partition is not None
        }
        self._sizes: dict[Hashable, int] = {}  # of the partitions that have bytes
        self._size_bytes = 0

    @property
    def keys(self) -> Sequence[Hashable]:
        """The keys of the partitions in a purgatory."""
        return tuple(self._interests)

    def __call__(self, key: Hashable | None) -> bool:
        """Whether the wait is over, after an event on the partition `key`; None: reads all of them."""
        return (
            any(self._is_satisfied_by(each) for each in self._interests) if key is None else self._is_satisfied_by(key)
        )

    def _is_satisfied_by(self, key: Hashable) -> bool:
        """Reads one partition again; returns whether the wait is over now."""
        interest = self._interests[key]
        reading = PartitionReading(interest)
        try:
            _read_partition(self._cluster, reading, self._params, interest.max_bytes, False, True)
        except ApiError:
            return True
        if reading.ends_wait or _cannot_grow(reading, self._params):
            return True
        size_bytes = min(reading.slice.size_bytes, interest.max_bytes)
        self._size_bytes += size_bytes - self._sizes.pop(key, 0)
        if size_bytes:
            self._sizes[key] = size_bytes
        return self._size_bytes >= self._params.min_bytes


def _cannot_grow(reading: PartitionReading, params: FetchParams) -> bool:
    """Whether the fetch offset is above the visible end, or in a segment before that of the visible end."""
    partition = reading.partition
    if partition is None:
        return False
    visible_end_offset = partition.visible_end_offset(params.isolation_level, params.replica_id)
    if not reading.slice.size_bytes:
        return reading.interest.fetch_offset > visible_end_offset
    return reading.slice.segment_base_offset < partition.log.segment_base_of(visible_end_offset)


def _read_partition(
    cluster: MetadataImage,
    reading: PartitionReading,
    params: FetchParams,
    max_bytes: int,
    owes_one_batch: bool,
    allow_partial: bool,
) -> None:
    interest = reading.interest
    if params.access is EVERYTHING:
        topic = find_topic(cluster, interest)
    else:
        topic = _find_readable_topic(cluster, interest, params.access, is_follower=params.is_follower)
    reading.topic = topic
    partition = topic.partitions.get(interest.index)
    if partition is None:
        raise ApiError(f"no partition {topic.name}-{interest.index}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    reading.partition = partition
    if interest.current_leader_epoch >= 0:
        partition.check_leader_epoch(interest.current_leader_epoch)
    if partition.leader_id != cluster.node_id and not params.may_read_followers:
        cluster.check_led_here(partition)
    if params.rack and params.may_read_followers:
        preferred = partition.find_preferred_read_replica(params.rack, interest.fetch_offset, cluster.racks())
        if preferred is not None:
            reading.preferred_replica, reading.ends_wait = preferred, True
    if not reading.ends_wait and interest.last_fetched_epoch >= 0:
        reading.divergence = _find_divergence(partition, interest)
        reading.ends_wait = reading.divergence is not None
    log = partition.log
    if log.is_offline:
        log.check_online()
    high_watermark, last_stable_offset, below = partition.offset_snapshot(params.isolation_level, params.replica_id)
    if not reading.ends_wait:
        reading.slice = log.read(
            interest.fetch_offset,
            max_bytes if max_bytes > 0 else 0,
            below=below,
            min_one_message=owes_one_batch,
            allow_partial=allow_partial,
        )
    reading.high_watermark = high_watermark
    reading.last_stable_offset = last_stable_offset
    reading.log_start_offset = log.log_start_offset


def _find_divergence(partition: Partition, interest: Interest) -> Divergence | None:
    found = partition.divergence_from(interest.last_fetched_epoch, interest.fetch_offset)
    return None if found is None else Divergence(epoch=found[0], end_offset=found[1])


def may_have_many_aborted(reading: PartitionReading) -> bool:
    """Whether a worker thread should make the answer to a read_committed fetch, which may have hundreds of thousands of
    aborted transactions."""
    return (
        reading.partition is not None
        and not reading.error
        and reading.slice.size_bytes > 0
        and reading.partition.log.may_have_many_aborted(reading.slice)
    )


def aborted_transactions(reading: PartitionReading, params: FetchParams) -> list[tuple[int, int]] | None:
    """(producer id, first offset) of each aborted transaction in the slice.

    None unless read_committed, or where reading failed. An unknown partition has an empty list, as in Kafka.
    """
    if reading.partition is None:
        return []
    if not params.reads_committed or reading.error:
        return None
    if not reading.slice.size_bytes:
        return []
    return reading.partition.log.aborted_transactions(reading.interest.fetch_offset, reading.slice)
