"""Committed offsets in memory: the latest of each partition, and those pending in open transactions.

A transactional commit waits, under its producer, for the marker: COMMIT applies it unless a later record of the log has
set the same partition since, ABORT drops it. Source: Kafka 3.9, OffsetMetadataManager.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ....protocol.coordinator.group_log import GroupRecord
from ....protocol.coordinator.offset_records import OffsetCommitKey, OffsetCommitValue

TopicPartition = tuple[str, int]
NO_PRODUCER: Final = -1
NO_OFFSET: Final = -1


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """`record_offset`: where its record is in the log. `expire_ms` -1: it expires by the group's retention."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int
    record_offset: int


_OfPartition = dict[TopicPartition, CommittedOffset]
_NOTHING: Final[Mapping[TopicPartition, CommittedOffset]] = {}


class Offsets:
    """Offsets of all groups."""

    def __init__(self) -> None:
        self._committed: dict[str, _OfPartition] = {}
        self._pending: dict[int, dict[str, _OfPartition]] = {}
        self._open_producers: dict[str, set[int]] = {}
        self._unreplicated: Counter[tuple[str, TopicPartition]] = Counter()

    def of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """A view of what the group has committed."""
        return self._committed.get(group_id, _NOTHING)

    def find(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self.of_group(group_id).get((topic, partition))

    def counts_by_group(self) -> Iterator[int]:
        """How many offsets each group has committed."""
        return map(len, tuple(self._committed.values()))

    def __len__(self) -> int:
        return sum(self.counts_by_group())

    def group_ids(self) -> Iterator[str]:
        yield from self._committed

    # Not settled yet

    def is_unstable(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether a commit of this partition is undecided: in an open transaction, or not yet replicated."""
        where = (topic, partition)
        if self._unreplicated and self._unreplicated[group_id, where]:
            return True
        return any(where in self._pending[producer].get(group_id, ()) for producer in self._open_producers_of(group_id))

    def has_open_transactions(self, group_id: str) -> bool:
        return group_id in self._open_producers

    def pending_partitions(self, group_id: str) -> set[TopicPartition]:
        """The partitions whose offsets open transactions would commit for the group."""
        found: set[TopicPartition] = set()
        for producer in self._open_producers_of(group_id):
            found.update(self._pending[producer].get(group_id, ()))
        return found

    def partitions_of(self, group_id: str) -> set[TopicPartition]:
        """The partitions with a committed offset, or with one in an open transaction."""
        return self.pending_partitions(group_id).union(self.of_group(group_id))

    def last_record_offset(self, group_id: str, where: TopicPartition) -> int:
        """The offset of the last record that set, or in an open transaction would set, this partition; -1: none."""
        pending = (self._pending[producer].get(group_id, _NOTHING) for producer in self._open_producers_of(group_id))
        set_by = (offsets.get(where) for offsets in (self.of_group(group_id), *pending))
        return max((offset.record_offset for offset in set_by if offset is not None), default=-1)

    def _open_producers_of(self, group_id: str) -> Iterable[int]:
        return self._open_producers.get(group_id, ())

    def add_unreplicated_commits(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        self._unreplicated.update((group_id, where) for where in partitions)

    def remove_unreplicated_commits(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        for where in partitions:
            left = self._unreplicated[group_id, where] - 1
            if left > 0:
                self._unreplicated[group_id, where] = left
            else:
                del self._unreplicated[group_id, where]

    # Records in the order of the log

    def apply(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, record_offset: int, producer_id: int = NO_PRODUCER
    ) -> None:
        """Applies one record. A tombstone also removes offsets that open transactions would commit."""
        where = (key.topic, key.partition)
        if value is None:
            self._remove(key.group, where)
            return
        committed = _decode_offset(value, record_offset)
        if producer_id == NO_PRODUCER:
            self._committed.setdefault(key.group, {})[where] = committed
        else:
            self._pending.setdefault(producer_id, {}).setdefault(key.group, {})[where] = committed
            self._open_producers.setdefault(key.group, set()).add(producer_id)

    def end_transaction(self, group_id: str, producer_id: int, *, committed: bool) -> None:
        """Commits or drops the offsets of the producer's open transaction for the group."""
        pending = self._pending[producer_id]
        offsets = pending.pop(group_id)
        self._forget_open_producer(group_id, producer_id)
        if committed:
            self._merge_offsets(group_id, offsets)
        if not pending:
            del self._pending[producer_id]

    def groups_of_producer(self, producer_id: int) -> Iterator[str]:
        """The groups for which the producer's transaction would commit; they may change during the iteration."""
        for group_id in tuple(self._pending.get(producer_id, ())):
            if group_id in self._pending.get(producer_id, ()):
                yield group_id

    def forget(self, group_id: str) -> None:
        """Drops all offsets of a group from memory, those of open transactions too."""
        self._committed.pop(group_id, None)
        for producer_id in tuple(self._open_producers_of(group_id)):
            self.end_transaction(group_id, producer_id, committed=False)

    def _merge_offsets(self, group_id: str, offsets: _OfPartition) -> None:
        settled = self._committed.setdefault(group_id, {})
        for where, offset in offsets.items():
            present = settled.get(where)
            if present is None or offset.record_offset > present.record_offset:
                settled[where] = offset
        if not settled:
            del self._committed[group_id]

    def _forget_open_producer(self, group_id: str, producer_id: int) -> None:
        producers = self._open_producers[group_id]
        producers.discard(producer_id)
        if not producers:
            del self._open_producers[group_id]

    def _remove(self, group_id: str, where: TopicPartition) -> None:
        committed = self._committed.get(group_id)
        if committed is not None and committed.pop(where, None) is not None and not committed:
            del self._committed[group_id]
        for producer in self._open_producers_of(group_id):
            self._pending[producer][group_id].pop(where, None)


def _decode_offset(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        record_offset,
    )


def offset_tombstone(group_id: str, where: TopicPartition) -> GroupRecord:
    topic, partition = where
    return GroupRecord(key=OffsetCommitKey(group=group_id, topic=topic, partition=partition), value=None)
