"""A partition that the image knows but whose log is not here: on other brokers, or offline."""

from ...protocol.errors import ApiError, ErrorCode
from ...storage.log.log import Log
from ...storage.metadata.partition_record import PartitionRecord
from ..metadata.partition import Partition


class AbsentPartition(Partition):
    """Knows the partition's leader and replicas; its `log` raises an ApiError with `code`."""

    __slots__ = ("_code",)

    def __init__(
        self,
        topic_name: str,
        index: int,
        record: PartitionRecord,
        *,
        code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ) -> None:
        self.topic_name = topic_name
        self.index = index
        self.key = (topic_name, index)
        self._code = code
        self.apply(record)

    def apply(self, record: PartitionRecord) -> None:
        """Takes over what the controller has decided."""
        self.leader_id = record.leader
        self.leader_epoch = record.leader_epoch
        self.replicas = record.replicas
        self.isr = record.isr

    @property
    def is_here(self) -> bool:
        return False

    @property
    def log(self) -> Log:  # type: ignore[override]
        """Raises: ApiError, always."""
        what = "has no replica here" if self._code == ErrorCode.NOT_LEADER_OR_FOLLOWER else "could not be opened here"
        raise ApiError(f"{self.topic_name}-{self.index} {what}", self._code)

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        """Raises: ApiError, always: without a replica there is no epoch to check."""
        assert self.log

    @property
    def high_watermark(self) -> int:
        """Raises: ApiError, always."""
        return self.log.log_end_offset
