"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete, and the expiry of what was committed.

Who may commit (Kafka 3.9, ClassicGroup.validateOffsetCommit and ConsumerGroup.validateOffsetCommit):

    group       member, generation      answer
    absent      none                    an Empty group without protocol is made to hold the offsets
                given                   ILLEGAL_GENERATION; GROUP_ID_NOT_FOUND from v9 on
                                        where the consumer protocol is on. In a transaction, where it
                                        is off: as for an Empty group, which is made
    Empty       none                    committed
    others      none                    UNKNOWN_MEMBER_ID, but committed in a transaction
                given                   the member and the generation have to be right; CompletingRebalance: 27
    consumer    member epoch            STALE_MEMBER_EPOCH unless it is the current one

Clients of OffsetCommit v0 (0.8.x) are committers without member and generation: their offsets are kept with all others,
where they once were in ZooKeeper.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ....network.turn import Turn
from ....protocol.coordinator.group_log import EncodedGroupRecord, GroupRecord, encode_group_record
from ....protocol.coordinator.offset_records import OffsetCommitKey, OffsetCommitValue
from ....protocol.errors import ApiError, ErrorCode
from ..classic.group import UNKNOWN_MEMBER, ClassicGroup
from ..classic.rebalance import Rebalancer
from ..classic.state_table import COMMIT, ClassicGroupState
from ..consumer.group import ConsumerGroup
from ..error_mapping import to_offset_error
from ..group_record_log import GroupRecordLog, StoredRecords, TransactionalProducer
from ..group_registry import Group, GroupRegistry
from ..group_settings import GroupSettings
from .committed_offsets import NO_OFFSET, NO_PRODUCER, CommittedOffset, Offsets, TopicPartition, offset_tombstone
from .expiration_rule import find_expired_offsets

NO_GENERATION = -1
NO_RETENTION = -1
TOMBSTONES_A_BATCH = 100
FIRST_VERSION_WITH_MEMBER_EPOCH = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Committer:
    """The sender of a commit: a member with its generation (or member epoch), or any other client."""

    group_id: str
    member_id: str = UNKNOWN_MEMBER
    instance_id: str | None = None
    generation: int = NO_GENERATION
    version: int = FIRST_VERSION_WITH_MEMBER_EPOCH
    producer: TransactionalProducer | None = None

    @property
    def is_transactional(self) -> bool:
        return self.producer is not None

    @property
    def is_a_member(self) -> bool:
        return self.generation >= 0 or self.member_id != UNKNOWN_MEMBER or self.instance_id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOffset:
    """An offset to commit. `commit_ms` -1: now; `retention_ms` -1: the group's."""

    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    commit_ms: int = -1
    retention_ms: int = NO_RETENTION


NEVER_MS = (1 << 63) - 1
UNKNOWN_OFFSET = CommittedOffset(NO_OFFSET, -1, "", -1, -1, -1)


class OffsetRequests:
    """Answers requests about offsets of groups, and writes their records."""

    def __init__(
        self,
        settings: GroupSettings,
        groups: GroupRegistry,
        offsets: Offsets,
        rebalancer: Rebalancer,
        record_log: GroupRecordLog,
        timeout_ms: int,
    ) -> None:
        self._settings = settings
        self._groups = groups
        self._offsets = offsets
        self._rebalancer = rebalancer
        self._record_log = record_log
        self._timeout_ms = timeout_ms
        self.committed = self.expired = self.deleted = 0

    # Committing

    async def commit(self, committer: Committer, new: Sequence[NewOffset]) -> dict[TopicPartition, ErrorCode]:
        """The error code of each partition; offsets are replicated on return. Raises: ApiError for all of them."""
        self._check_committer(committer)
        codes = {(each.topic, each.partition): self._check_metadata_length(each) for each in new}
        taken = [each for each in new if not codes[each.topic, each.partition]]
        if taken:
            failure = await self._store_offsets(committer, taken)
            codes.update(((each.topic, each.partition), failure) for each in taken)
        return codes

    def _check_metadata_length(self, new: NewOffset) -> ErrorCode:
        """Lengths count UTF-16 units, as Java's strings do."""
        if new.metadata is not None and len(new.metadata.encode("utf-16-le")) // 2 > self._settings.metadata_max_chars:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        return ErrorCode.NONE

    async def _store_offsets(self, committer: Committer, new: Sequence[NewOffset]) -> ErrorCode:
        group_id = committer.group_id
        records = [self._make_record(group_id, each) for each in new]
        try:
            stored = self._record_log.append(group_id, records, committer.producer)
        except ApiError as error:
            return to_offset_error(error)
        self.apply_records(records, stored, committer.producer)
        self.committed += len(new)
        partitions = [(each.topic, each.partition) for each in new]
        self._offsets.add_unreplicated_commits(group_id, partitions)
        try:
            await self._record_log.await_replication(stored, self._timeout_ms)
        except ApiError as error:
            return to_offset_error(error)
        finally:
            self._offsets.remove_unreplicated_commits(group_id, partitions)
        return ErrorCode.NONE

    def _make_record(self, group_id: str, new: NewOffset) -> GroupRecord:
        now_ms = self._rebalancer.now_ms()
        value = OffsetCommitValue(
            offset=new.offset,
            leader_epoch=new.leader_epoch,
            metadata=new.metadata or "",
            commit_timestamp=now_ms if new.commit_ms == -1 else new.commit_ms,
            expire_timestamp=-1 if new.retention_ms == NO_RETENTION else min(now_ms + new.retention_ms, NEVER_MS),
        )
        key = OffsetCommitKey(group=group_id, topic=new.topic, partition=new.partition)
        return GroupRecord(key=key, value=value)

    def apply_records(
        self, records: Iterable[GroupRecord], stored: StoredRecords, producer: TransactionalProducer | None = None
    ) -> None:
        """Applies offset records that were written."""
        producer_id = NO_PRODUCER if producer is None else producer.producer_id
        for record_offset, record in enumerate(records, stored.first_offset):
            if isinstance(record.key, OffsetCommitKey):
                self._offsets.apply(record.key, record.value, record_offset, producer_id)

    # Who may

    def _check_committer(self, committer: Committer) -> None:
        group = self._groups.find(committer.group_id)
        if group is None:
            offers_epochs = self._settings.offers_consumer_protocol
            if committer.generation >= 0 and (offers_epochs or not committer.is_transactional):
                is_new = committer.version >= FIRST_VERSION_WITH_MEMBER_EPOCH and not committer.is_transactional
                code = ErrorCode.GROUP_ID_NOT_FOUND if is_new and offers_epochs else ErrorCode.ILLEGAL_GENERATION
                raise ApiError(f"there is no group {committer.group_id!r}", code)
            group = self._groups.find_or_make_for_offsets(committer.group_id, self._rebalancer.now_ms())
        if isinstance(group, ConsumerGroup):
            self._check_consumer_member(group, committer)
        else:
            self._check_classic_member(group, committer)

    def _check_classic_member(self, group: ClassicGroup, committer: Committer) -> None:
        refusal = COMMIT[group.state]
        if group.state is ClassicGroupState.DEAD:
            raise ApiError(f"group {group.group_id} is gone", refusal)
        if group.state is ClassicGroupState.EMPTY and committer.generation < 0:
            return
        if committer.is_a_member:
            member = group.check_member(committer.member_id, committer.instance_id)
            group.check_generation(committer.generation)
        elif committer.is_transactional:
            return
        else:
            raise ApiError(
                f"group {group.group_id} has members, and this is not one of them", ErrorCode.UNKNOWN_MEMBER_ID
            )
        if committer.is_transactional:
            return
        if refusal is not None:
            raise ApiError(f"group {group.group_id} is {group.state.value}", refusal)
        self._rebalancer.keep_alive(group, member)

    def _check_consumer_member(self, group: ConsumerGroup, committer: Committer) -> None:
        if committer.generation < 0 and not group.members:
            return
        member = group.members.get(committer.member_id)
        if member is None:
            message = f"group {group.group_id} has no member {committer.member_id!r}"
            raise ApiError(message, ErrorCode.UNKNOWN_MEMBER_ID)
        is_new_protocol = member.classic is None
        if is_new_protocol and not committer.is_transactional and committer.version < FIRST_VERSION_WITH_MEMBER_EPOCH:
            message = "members of the consumer protocol commit with OffsetCommit v9 or above"
            raise ApiError(message, ErrorCode.UNSUPPORTED_VERSION)
        if committer.generation != member.epoch:
            message = f"member {member.member_id} is at epoch {member.epoch}, not {committer.generation}"
            stale = is_new_protocol and not committer.is_transactional
            raise ApiError(message, ErrorCode.STALE_MEMBER_EPOCH if stale else ErrorCode.ILLEGAL_GENERATION)

    # Fetching

    def check_fetcher(self, group_id: str, member_id: str | None, member_epoch: int) -> None:
        """Raises ApiError when a member of a consumer group asks with a wrong id or epoch; anybody else may."""
        group = self._groups.find(group_id)
        if not isinstance(group, ConsumerGroup) or (member_id is None and member_epoch < 0):
            return
        member = group.members.get(member_id or "")
        if member is None:
            raise ApiError(f"group {group_id} has no member {member_id!r}", ErrorCode.UNKNOWN_MEMBER_ID)
        if member_epoch != member.epoch:
            message = f"member {member_id} is at epoch {member.epoch}, not {member_epoch}"
            code = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
            raise ApiError(message, code)

    def fetch(self, group_id: str, topic: str, partition: int, *, stable: bool = False) -> CommittedOffset:
        """The offset that the group has committed; -1 if none. Raises: ApiError UNSTABLE_OFFSET_COMMIT."""
        if stable and self._offsets.is_unstable(group_id, topic, partition):
            message = f"a commit of {topic}-{partition} by group {group_id} is not settled"
            raise ApiError(message, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return self._offsets.find(group_id, topic, partition) or UNKNOWN_OFFSET

    def offsets_of_group(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        return self._offsets.of_group(group_id)

    # Deleting

    def delete_offsets(self, group_id: str, asked: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Deletes offsets; returns the error code of each partition.

        An empty group without offsets is deleted too. Where the consumer protocol is on it stays until offsets expire,
        as with Kafka's newer coordinator, so that `kafka-consumer-groups --delete` still finds it.
        Raises: ApiError for all of them.
        """
        group = self._groups.get(group_id)
        if isinstance(group, ClassicGroup):
            if group.state is ClassicGroupState.DEAD:
                raise ApiError(f"group {group_id} is gone", ErrorCode.GROUP_ID_NOT_FOUND)
            if group.members and not group.uses_consumer_protocol:
                raise ApiError(f"group {group_id} has members", ErrorCode.NON_EMPTY_GROUP)
        codes = {where: self._deletion_error(group, where) for where in asked}
        known = self._offsets.partitions_of(group_id)
        gone = [where for where, code in codes.items() if not code and where in known]
        self._write_tombstones(group_id, gone)
        goes_at_once = not all(codes.values()) and not self._settings.offers_consumer_protocol
        if goes_at_once and isinstance(group, ClassicGroup) and group.is_empty and not self._has_offsets(group_id):
            self.delete_group(group)
        return codes

    def _deletion_error(self, group: Group, where: TopicPartition) -> ErrorCode:
        has_members = bool(group.members)
        subscribed = has_members and group.is_subscribed_to(where[0])
        return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE

    async def encode_tombstones(self, group_id: str, turn: Turn) -> list[EncodedGroupRecord]:
        """The tombstones of all offsets that the group has when this returns."""
        made: dict[TopicPartition, EncodedGroupRecord] = {}
        while missing := sorted(self._offsets.partitions_of(group_id) - made.keys()):
            for where in missing:
                made[where] = encode_group_record(offset_tombstone(group_id, where))
                await turn.next()
        return list(made.values())

    def delete_group(self, group: Group, tombstones: Sequence[EncodedGroupRecord] = ()) -> None:
        """Takes a group without members out of the log, in one batch with the tombstones of all its offsets.

        Raises: ApiError.
        """
        self._record_log.append_encoded_records(
            group.group_id, [*tombstones, *map(encode_group_record, group.tombstones())]
        )
        self.deleted += len(tombstones)
        self.forget_group(group)

    def forget_group(self, group: Group) -> None:
        """Removes the group and its offsets from memory."""
        if isinstance(group, ClassicGroup):
            self._rebalancer.cancel_timers(group)
            group.move_to(ClassicGroupState.DEAD, self._rebalancer.now_ms())
        self._offsets.forget(group.group_id)
        self._groups.remove(group.group_id)

    async def delete_offsets_of_topics(self, names: Container[str], ends: Mapping[int, int], turn: Turn) -> None:
        """Deletes the offsets of these topics in all groups. Where that fails for a group, logs it and goes on.

        `ends`: the log end of each offsets partition when the topics were deleted. Later commits, for new topics of
        these names, stay.
        """
        for group in self._groups:
            group_id = group.group_id
            found = sorted(where for where in self._offsets.partitions_of(group_id) if where[0] in names)
            end = ends.get(self._record_log.partition_of(group_id), 0) if found else 0
            try:
                for batch in _split_in_batches(found):
                    last_of = partial(self._offsets.last_record_offset, group_id)
                    self._write_tombstones(group_id, [where for where in batch if 0 <= last_of(where) < end])
                    await turn.next()
            except ApiError as error:
                self._rebalancer.logger.warn(group_id, "offsets of deleted topics could not be removed: %s", error)
            await turn.next()

    def _write_tombstones(self, group_id: str, gone: Sequence[TopicPartition]) -> None:
        if gone:
            self._append_and_apply(group_id, [offset_tombstone(group_id, where) for where in gone])
            self.deleted += len(gone)

    def _append_and_apply(self, group_id: str, records: Sequence[GroupRecord]) -> None:
        self.apply_records(records, self._record_log.append(group_id, records))

    # Expiring

    async def expire_offsets(self, group: Group, turn: Turn) -> int:
        """Deletes expired offsets, and a group with nothing left. Returns how many expired. Raises: ApiError."""
        group_id, count = group.group_id, 0
        for batch in _split_in_batches(list(self._offsets.of_group(group_id))):
            expired = find_expired_offsets(
                group,
                self._offsets,
                batch,
                now_ms=self._rebalancer.now_ms(),
                retention_ms=self._settings.offsets_retention_ms,
            )
            if expired:
                self._append_and_apply(group_id, [offset_tombstone(group_id, where) for where in expired])
            self.expired += len(expired)
            count += len(expired)
            await turn.next()
            if self._groups.find(group_id) is not group:
                return count
        has_pending = isinstance(group, ClassicGroup) and bool(group.pending_members)
        if group.is_empty and not self._has_offsets(group_id) and not has_pending:
            self.delete_group(group)
        return count

    def _has_offsets(self, group_id: str) -> bool:
        return bool(self._offsets.of_group(group_id)) or self._offsets.has_open_transactions(group_id)


def _split_in_batches(partitions: Sequence[TopicPartition]) -> Iterator[Sequence[TopicPartition]]:
    return (partitions[at : at + TOMBSTONES_A_BATCH] for at in range(0, len(partitions), TOMBSTONES_A_BATCH))
