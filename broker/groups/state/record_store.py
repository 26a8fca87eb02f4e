"""Where coordinators put their records: a log in the broker, a list in tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ....protocol.coordinator.group_log import GroupRecord
from ....protocol.errors import ApiError, ErrorCode

# What clients are told when a group's record, or an offset, could not be written (Kafka 3.9, GroupMetadataManager).
_GROUP_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
_GROUP_ONLY_ERRORS: Final = {
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
_OFFSET_ONLY_ERRORS: Final = {
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def group_error(error: ApiError) -> ErrorCode:
    """What members are told when the record of their group could not be written."""
    return (_GROUP_ERRORS | _GROUP_ONLY_ERRORS).get(error.code, error.code)


def offset_error(error: ApiError) -> ErrorCode:
    """What a commit is answered when its records could not be written."""
    return (_GROUP_ERRORS | _OFFSET_ONLY_ERRORS).get(error.code, error.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """The transactional producer in whose name offsets are committed."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Where a batch of records went: offsets from `first_offset` inclusive to `end_offset` exclusive."""

    partition: int
    first_offset: int
    end_offset: int


class GroupStore(Protocol):
    """Keeps records of groups, each group in one partition of `__consumer_offsets`."""

    def append(self, group_id: str, records: Sequence[GroupRecord], producer: Producer | None = None) -> Stored:
        """Writes all of `records` in one batch. Raises: ApiError when nothing was written."""
        ...

    async def replicated(self, stored: Stored, timeout_ms: int) -> None:
        """Returns when the in-sync replicas have them. Raises: ApiError REQUEST_TIMED_OUT."""
        ...
