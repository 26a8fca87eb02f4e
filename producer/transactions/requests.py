"""What a transactional producer asks of coordinators, and what each answer means.

    verdict     codes, unless a request has its own meaning for them
    LOOK_UP     COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR                  find the coordinator, then again
    AGAIN       any other that is retriable                                 again after retry.backoff.ms
    BUMP        UNKNOWN_PRODUCER_ID, INVALID_PRODUCER_ID_MAPPING            abort and raise the epoch; fatal before 2.5
    ABORT       TRANSACTION_ABORTABLE                                       the transaction can only be aborted
    REFUSED     InitProducerId: no rights, or TRANSACTION_ABORTABLE         init_transactions may be called again
    FENCED      INVALID_PRODUCER_EPOCH, PRODUCER_FENCED                     fatal: another one has the id
    FATAL       everything else

Source: Kafka 3.9, the TxnRequestHandlers of TransactionManager.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar

from ...client.versions import ANY_VERSION
from ...protocol.api import ApiKey
from ...protocol.errors import ErrorCode, code_of
from ...protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ...protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from ...protocol.messages.end_txn import EndTxnRequest
from ...protocol.messages.find_coordinator import FindCoordinatorRequest
from ...protocol.messages.init_producer_id import InitProducerIdRequest
from ...protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from ..accumulator.producer_batch import TopicPartition
from ..accumulator.sequence_numbers import ProducerIdAndEpoch
from ..awaited_result import AwaitedResult
from .offset_and_group_metadata import GroupMetadata, OffsetAndMetadata


class RequestVerdict(Enum):
    DONE = auto()
    LOOK_UP = auto()
    AGAIN = auto()
    BUMP = auto()
    ABORT = auto()
    REFUSED = auto()
    FENCED = auto()
    FATAL = auto()


Meanings = Mapping[ErrorCode, RequestVerdict]
COMMON: Meanings = {
    ErrorCode.NONE: RequestVerdict.DONE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: RequestVerdict.LOOK_UP,
    ErrorCode.NOT_COORDINATOR: RequestVerdict.LOOK_UP,
    ErrorCode.UNKNOWN_PRODUCER_ID: RequestVerdict.BUMP,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: RequestVerdict.BUMP,
    ErrorCode.TRANSACTION_ABORTABLE: RequestVerdict.ABORT,
    ErrorCode.INVALID_PRODUCER_EPOCH: RequestVerdict.FENCED,
    ErrorCode.PRODUCER_FENCED: RequestVerdict.FENCED,
}
GROUP, TRANSACTION = 0, 1
"""Kinds of coordinators, as FindCoordinator numbers them."""

Coordinator = tuple[int, str]
"""A kind, and the group or the transactional id."""


@dataclass(frozen=True, slots=True)
class TransactionalIdentity:
    """The producer as requests name it."""

    transactional_id: str
    timeout_ms: int
    identity: ProducerIdAndEpoch


class TransactionRequest:
    """A request of a transaction. `order`: lower ones are sent first. `again_ms`: not sent before then.
    `waits_since_ms`: since when it waits for its node.
    """

    key: ClassVar[ApiKey]
    order: int = 2
    versions: tuple[int, int] = ANY_VERSION
    meanings: ClassVar[Meanings] = COMMON
    otherwise: ClassVar[RequestVerdict] = RequestVerdict.FATAL

    def __init__(self, coordinator: Coordinator | None, result: AwaitedResult | None = None) -> None:
        self.coordinator = coordinator
        self.result = result or AwaitedResult()
        self.again_ms = 0
        self.waits_since_ms: int | None = None

    def build_request(self, version: int, owner: TransactionalIdentity) -> Any:
        raise NotImplementedError

    def error_codes(self, response: Any) -> Iterable[ErrorCode]:
        """The error codes of the answer, one or many."""
        return (code_of(response.error_code),)

    def verdict_on(self, response: Any) -> tuple[RequestVerdict, ErrorCode]:
        """The first verdict that is not DONE, and its code."""
        for code in self.error_codes(response):
            verdict = self.verdict_of(code)
            if verdict is not RequestVerdict.DONE:
                return verdict, code
        return RequestVerdict.DONE, ErrorCode.NONE

    def verdict_of(self, code: ErrorCode) -> RequestVerdict:
        known = self.meanings.get(code)
        if known is not None:
            return known
        return RequestVerdict.AGAIN if code.retriable else self.otherwise


class FindCoordinator(TransactionRequest):
    """Asks any broker who coordinates a group or a transactional id."""

    key = ApiKey.FIND_COORDINATOR
    order = 0
    meanings: ClassVar[Meanings] = {
        ErrorCode.NONE: RequestVerdict.DONE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: RequestVerdict.ABORT,
        ErrorCode.TRANSACTION_ABORTABLE: RequestVerdict.ABORT,
    }

    def __init__(self, wanted: Coordinator) -> None:
        super().__init__(None)
        self.wanted = wanted
        self.versions = (wanted[0], ANY_VERSION[1])

    def build_request(self, version: int, owner: TransactionalIdentity) -> FindCoordinatorRequest:
        kind, name = self.wanted
        if version < 4:
            return FindCoordinatorRequest(key=name, key_type=kind)
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=(name,))

    @staticmethod
    def coordinator_in(response: Any) -> Any:
        """The part of the answer that names the coordinator: `node_id`, `host`, `port`, `error_code`."""
        return response.coordinators[0] if response.coordinators else response

    def error_codes(self, response: Any) -> Iterable[ErrorCode]:
        return (code_of(self.coordinator_in(response).error_code),)


class InitProducerId(TransactionRequest):
    """Gets an id, or with `bump` the next epoch of the one that the producer has (KIP-360)."""

    key = ApiKey.INIT_PRODUCER_ID
    meanings: ClassVar[Meanings] = {
        **COMMON,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: RequestVerdict.REFUSED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: RequestVerdict.REFUSED,
        ErrorCode.TRANSACTION_ABORTABLE: RequestVerdict.REFUSED,
        ErrorCode.UNKNOWN_PRODUCER_ID: RequestVerdict.FATAL,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING: RequestVerdict.FATAL,
    }

    def __init__(self, coordinator: Coordinator, *, bump: bool, result: AwaitedResult | None = None) -> None:
        super().__init__(coordinator, result)
        self.bump = bump
        # 4: after EndTxn, to raise the epoch; 1: before anything but FindCoordinator.
        self.order = 4 if bump else 1

    def build_request(self, version: int, owner: TransactionalIdentity) -> InitProducerIdRequest:
        identity = owner.identity if self.bump else ProducerIdAndEpoch()
        return InitProducerIdRequest(
            transactional_id=owner.transactional_id,
            transaction_timeout_ms=owner.timeout_ms,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
        )


class AddPartitions(TransactionRequest):
    """Tells the coordinator which partitions the transaction will write to. v4 and later are for brokers."""

    key = ApiKey.ADD_PARTITIONS_TO_TXN
    versions = (0, 3)
    meanings: ClassVar[Meanings] = {
        **COMMON,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: RequestVerdict.FATAL,
        ErrorCode.INVALID_TXN_STATE: RequestVerdict.FATAL,
    }
    otherwise = RequestVerdict.ABORT

    def __init__(self, coordinator: Coordinator, partitions: frozenset[TopicPartition]) -> None:
        super().__init__(coordinator)
        self.partitions = partitions

    def build_request(self, version: int, owner: TransactionalIdentity) -> AddPartitionsToTxnRequest:
        topics: dict[str, list[int]] = {}
        for topic, partition in sorted(self.partitions):
            topics.setdefault(topic, []).append(partition)
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=owner.transactional_id,
            v3_and_below_producer_id=owner.identity.producer_id,
            v3_and_below_producer_epoch=owner.identity.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=at) for name, at in topics.items()],
        )

    def error_codes(self, response: Any) -> Iterable[ErrorCode]:
        found = [
            code_of(partition.partition_error_code)
            for topic in response.results_by_topic_v3_and_below
            for partition in topic.results_by_partition
        ]
        # Where one partition has an error, the others only say that they were not tried.
        return sorted(found, key=lambda code: code is ErrorCode.OPERATION_NOT_ATTEMPTED)


class AddOffsets(TransactionRequest):
    """Tells the transaction's coordinator which group's offsets the transaction will hold."""

    key = ApiKey.ADD_OFFSETS_TO_TXN
    meanings: ClassVar[Meanings] = {**COMMON, ErrorCode.GROUP_AUTHORIZATION_FAILED: RequestVerdict.ABORT}

    def __init__(
        self, coordinator: Coordinator, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata
    ) -> None:
        super().__init__(coordinator)
        self.offsets, self.group = offsets, group

    def build_request(self, version: int, owner: TransactionalIdentity) -> AddOffsetsToTxnRequest:
        return AddOffsetsToTxnRequest(
            transactional_id=owner.transactional_id,
            producer_id=owner.identity.producer_id,
            producer_epoch=owner.identity.epoch,
            group_id=self.group.group_id,
        )


_HARMLESS = {RequestVerdict.LOOK_UP: 1, RequestVerdict.AGAIN: 2}


class CommitOffsets(TransactionRequest):
    """Hands the offsets to the group's coordinator; those that it took are not sent again."""

    key = ApiKey.TXN_OFFSET_COMMIT
    meanings: ClassVar[Meanings] = {
        **COMMON,
        ErrorCode.REQUEST_TIMED_OUT: RequestVerdict.LOOK_UP,
        ErrorCode.GROUP_AUTHORIZATION_FAILED: RequestVerdict.ABORT,
        ErrorCode.FENCED_INSTANCE_ID: RequestVerdict.ABORT,
        ErrorCode.UNKNOWN_MEMBER_ID: RequestVerdict.ABORT,
        ErrorCode.ILLEGAL_GENERATION: RequestVerdict.ABORT,
        ErrorCode.UNKNOWN_PRODUCER_ID: RequestVerdict.FATAL,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING: RequestVerdict.FATAL,
    }

    def __init__(self, added: AddOffsets) -> None:
        super().__init__((GROUP, added.group.group_id), added.result)
        self.left, self.group = dict(added.offsets), added.group
        self.versions = (3, ANY_VERSION[1]) if self.group.names_a_member else ANY_VERSION

    def build_request(self, version: int, owner: TransactionalIdentity) -> TxnOffsetCommitRequest:
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, partition), place in self.left.items():
            item = TxnOffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=place.offset,
                committed_leader_epoch=place.leader_epoch,
                committed_metadata=place.metadata,
            )
            topics.setdefault(topic, []).append(item)
        return TxnOffsetCommitRequest(
            transactional_id=owner.transactional_id,
            group_id=self.group.group_id,
            producer_id=owner.identity.producer_id,
            producer_epoch=owner.identity.epoch,
            generation_id=self.group.generation,
            member_id=self.group.member_id,
            group_instance_id=self.group.instance_id,
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=items) for name, items in topics.items()],
        )

    def error_codes(self, response: Any) -> Iterable[ErrorCode]:
        found = set()
        for topic in response.topics:
            for partition in topic.partitions:
                code = code_of(partition.error_code)
                found.add(code)
                if code is ErrorCode.NONE:
                    self.left.pop((topic.name, partition.partition_index), None)
        # A non-retriable error outranks a retriable one.
        return sorted(found, key=lambda code: _HARMLESS.get(self.verdict_of(code), 0))


class EndTxn(TransactionRequest):
    """Commits or aborts."""

    key = ApiKey.END_TXN
    order = 3

    def __init__(self, coordinator: Coordinator, *, commit: bool) -> None:
        super().__init__(coordinator)
        self.commit = commit

    def build_request(self, version: int, owner: TransactionalIdentity) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=owner.transactional_id,
            producer_id=owner.identity.producer_id,
            producer_epoch=owner.identity.epoch,
            committed=self.commit,
        )
