"""One fetch of a follower from its leader, by the rules of Fetch v17 without the bytes of the protocol.

The leader reads the records, then notes the follower's offset: the answer has the high watermark from before the fetch,
so the follower's is one round late. Where the leader has no more records, the answer says `is_parked`: the follower's
next fetch counts as sent, and waits at the leader (`is_waiting`). The follower truncates where the logs diverge
(KIP-595), and appends batches as they are. Source: Kafka 3.9 `Partition`, `AbstractFetcherThread`.
"""

from typing import NamedTuple

from ...protocol.errors import ApiError, ErrorCode
from .follower_progress import Follower
from .replicated_partition import ReplicatedPartition, WrittenBatch

NO_EPOCH = -1


class ReplicaFetch(NamedTuple):
    """A follower's fetch: records from `offset` on, its log's last epoch and start, the leader's epoch."""

    follower: int
    offset: int
    last_epoch: int
    leader_epoch: int
    log_start_offset: int


class ReplicaAnswer(NamedTuple):
    """The leader's answer. `divergence`: an epoch and its end offset. `is_parked`: there is nothing more to fetch."""

    data: bytes = b""
    high_watermark: int = -1
    log_start_offset: int = -1
    divergence: tuple[int, int] | None = None
    is_parked: bool = False


def prepare_fetch(partition: ReplicatedPartition, follower: int) -> ReplicaFetch:
    """The next fetch of this follower. Raises DiskFault.

    A log without epochs cannot show where it diverges, so it is first truncated to its high watermark.
    """
    log = partition.log
    if log.epochs.latest == NO_EPOCH and log.log_end_offset > partition.high_watermark:
        partition.truncate(partition.high_watermark)
    return ReplicaFetch(
        follower=follower,
        offset=log.log_end_offset,
        last_epoch=log.epochs.latest,
        leader_epoch=partition.leader_epoch,
        log_start_offset=log.log_start_offset,
    )


def answer_fetch(leader: ReplicatedPartition, ask: ReplicaFetch, max_bytes: int) -> ReplicaAnswer:
    """The leader's answer to a fetch. Raises ApiError 1, 6, 56, 74 or 75."""
    if not leader.is_leader:
        message = f"{leader.topic_name}-{leader.index} is not led by this broker"
        raise ApiError(message, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    leader.check_leader_epoch(ask.leader_epoch)
    follower = leader.followers.get(ask.follower)
    if follower is None:
        message = f"broker {ask.follower} has no replica of {leader.topic_name}-{leader.index}"
        raise ApiError(message, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    log = leader.log
    follower.is_waiting = False
    if ask.last_epoch != NO_EPOCH:
        divergence = leader.divergence_from(ask.last_epoch, ask.offset)
        if divergence is not None:
            return ReplicaAnswer(divergence=divergence)
    data = b""
    if ask.offset != log.log_end_offset:
        found = log.read(ask.offset, max_bytes, below=log.log_end_offset, min_one_message=True)
        data = found.read(0, found.size_bytes)
    high_watermark = leader.high_watermark
    is_parked = _note_fetch(leader, follower, ask.offset, ask.log_start_offset, has_records=bool(data))
    return ReplicaAnswer(
        data=data, high_watermark=high_watermark, log_start_offset=log.log_start_offset, is_parked=is_parked
    )


def _note_fetch(
    leader: ReplicatedPartition, follower: Follower, offset: int, log_start_offset: int, *, has_records: bool
) -> bool:
    """Notes the follower's offset; returns whether its fetch is parked, since there is nothing new to answer."""
    high_watermark = leader.high_watermark
    leader.note_fetch(follower, offset, log_start_offset)
    follower.sent_high_watermark = high_watermark
    follower.is_waiting = not has_records and not log_start_offset < leader.log.log_start_offset <= high_watermark
    if follower.is_waiting:
        leader.notify_if_watermark_is_old(follower)
    return follower.is_waiting


def apply_answer(partition: ReplicatedPartition, answer: ReplicaAnswer) -> None:
    """Applies the leader's answer to the follower's log. Raises: ApiError, DiskFault, CorruptRecord."""
    if answer.divergence is not None:
        _truncate_to_shared_end(partition, *answer.divergence)
        return
    if answer.data:
        partition.log.append_as_follower(answer.data)
    partition.update_from_leader(answer.high_watermark, answer.log_start_offset)


def append_written_batch(partition: ReplicatedPartition, written: WrittenBatch) -> bool:
    """Appends the leader's new batch as the answer to a parked fetch, without reading the leader's log.

    Returns False, without an append, where the follower is in another epoch or this is not its next batch. Raises:
    ApiError, DiskFault.
    """
    log, leader = partition.log, written.leader
    if written.leader_epoch != partition.leader_epoch or written.first_offset != log.log_end_offset:
        return False
    log.append(written.prepared, leader_epoch=written.leader_epoch, may_be_duplicate=False)
    partition.update_from_leader(leader.high_watermark, leader.log.log_start_offset)
    return True


def park_next_fetch(partition: ReplicatedPartition, leader: ReplicatedPartition, node_id: int) -> bool:
    """Sends the next fetch of a follower that has all records; returns whether it is parked. Raises ApiError."""
    follower, log = leader.followers.get(node_id), partition.log
    return follower is not None and _note_fetch(
        leader, follower, log.log_end_offset, log.log_start_offset, has_records=False
    )


def _truncate_to_shared_end(partition: ReplicatedPartition, epoch: int, end_offset: int) -> None:
    """Truncates the log at the end of the leader's epoch, or of the epoch before it if this log does not know that
    one.
    """
    log = partition.log
    own = log.end_offset_for_epoch(epoch)
    if own.epoch == NO_EPOCH:
        cut = end_offset
    elif own.epoch != epoch:
        cut = own.start_offset
    else:
        cut = min(own.start_offset, end_offset)
    partition.truncate(min(cut, log.log_end_offset))


def truncate_or_restart(partition: ReplicatedPartition, leader: ReplicatedPartition) -> None:
    """After OFFSET_OUT_OF_RANGE: truncates to the leader's end, or restarts at its start. Raises DiskFault."""
    end, leaders = partition.log.log_end_offset, leader.log
    if leaders.log_end_offset < end:
        partition.truncate(leaders.log_end_offset)
    elif leaders.log_start_offset > end:
        partition.restart_at(leaders.log_start_offset)
