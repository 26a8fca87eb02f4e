"""The interface by which the group coordinator stores records: in a log in the broker, in a list in tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...protocol.coordinator.group_log import EncodedGroupRecord, GroupRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalProducer:
    """The transactional producer in whose name offsets are committed."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRecords:
    """Where a batch of records went: offsets from `first_offset` inclusive to `end_offset` exclusive."""

    partition: int
    first_offset: int
    end_offset: int


class GroupRecordLog(Protocol):
    """Keeps records of groups, each group in one partition of `__consumer_offsets`."""

    def partition_of(self, group_id: str) -> int:
        """The partition that holds the group's records."""
        ...

    def append(
        self, group_id: str, records: Sequence[GroupRecord], producer: TransactionalProducer | None = None
    ) -> StoredRecords:
        """Writes all of `records` in one batch. Raises: ApiError when nothing was written."""
        ...

    def append_encoded_records(
        self,
        group_id: str,
        records: Sequence[EncodedGroupRecord],
        producer: TransactionalProducer | None = None,
    ) -> StoredRecords:
        """Writes records that are encoded already, in one batch. Raises: ApiError when nothing was written."""
        ...

    async def await_replication(self, stored: StoredRecords, timeout_ms: int) -> None:
        """Returns when the in-sync replicas have them. Raises: ApiError REQUEST_TIMED_OUT."""
        ...
