"""KIP-890: before a partition takes the first batch of a transaction, the coordinator is asked whether the partition is
part of it.

So a late batch cannot reopen a transaction that was aborted, which nothing would end then. The question is a look-up in
the same turn of the loop as the append. The errors that the producer gets (Kafka 3.9, ReplicaManager and
AddPartitionsToTxnManager):

    not part of it                            TRANSACTION_ABORTABLE where the client knows it, else INVALID_TXN_STATE
    an older epoch                            INVALID_PRODUCER_EPOCH
    the coordinator cannot tell (51, 14-16)   produce: NOT_ENOUGH_REPLICAS, which producers retry
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ...config import BrokerSettings
from ...protocol.errors import ApiError, ErrorCode
from ..metadata.partition import Partition

if TYPE_CHECKING:
    from .coordinator import TransactionCoordinator

COORDINATOR_TROUBLE: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def verify(
    settings: BrokerSettings,
    coordinator: "Callable[[], TransactionCoordinator]",
    partition: Partition,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    *,
    knows_abortable: bool,
) -> None:
    """Raises: ApiError when the partition may not take records of this producer now: 120, 48, 47, 49, 51, 14-16."""
    if not settings.transaction_partition_verification_enable:
        return
    known = partition.log.producers.state.producers.get(producer_id)
    if known is not None and known.transaction_first_offset >= 0:
        return
    try:
        found = coordinator().verify(transactional_id, producer_id, producer_epoch, [partition.key])
    except ApiError as error:
        if error.code == ErrorCode.PRODUCER_FENCED:
            raise ApiError(str(error), ErrorCode.INVALID_PRODUCER_EPOCH) from error
        raise
    if found[partition.key]:
        code = ErrorCode.TRANSACTION_ABORTABLE if knows_abortable else ErrorCode.INVALID_TXN_STATE
        message = f"{partition.topic_name}-{partition.index} is not part of the transaction of {transactional_id}"
        raise ApiError(message, code)


def verify_produce(
    settings: BrokerSettings,
    coordinator: "Callable[[], TransactionCoordinator]",
    partition: Partition,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    *,
    knows_abortable: bool,
) -> None:
    """As `verify`, for a produce request. Raises: ApiError; NOT_ENOUGH_REPLICAS for errors that a retry may mend."""
    try:
        verify(
            settings, coordinator, partition, transactional_id, producer_id, producer_epoch,
            knows_abortable=knows_abortable,
        )  # fmt: skip
    except ApiError as error:
        if error.code in COORDINATOR_TROUBLE:
            message = f"the transaction could not be verified: {error}"
            raise ApiError(message, ErrorCode.NOT_ENOUGH_REPLICAS) from error
        raise
