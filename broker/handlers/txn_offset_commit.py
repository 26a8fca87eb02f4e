"""TxnOffsetCommit, versions 0-4 (KIP-98, 447, 890): stores what a group has consumed, as part of a transaction.

The offsets wait, beside those of the group, for the transaction's marker: a commit makes them count, an abort drops
them. The group need not exist. A partition that does not exist, or metadata that is too long, fails that partition
alone.

Version notes: before v2 COORDINATOR_LOAD_IN_PROGRESS is called COORDINATOR_NOT_AVAILABLE, since it may
crash producers before 2.0; v2 gives the leader epoch, v3 the group's member and generation, which are checked when any
is given; v4 says that the producer knows TRANSACTION_ABORTABLE.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...protocol.coordinator.partitioning import partition_of
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ..dispatch.call import Call
from ..groups.group_record_log import TransactionalProducer
from ..groups.offsets.committed_offsets import TopicPartition
from ..groups.offsets.offset_requests import Committer, NewOffset
from ..metadata.topic_rules import OFFSETS_TOPIC
from ..transactions.verification import verify
from .offset_commit import OFFSETS_A_BATCH, has_partition

if TYPE_CHECKING:
    from ..services import Services

FIRST_VERSION_WITH_LOADING = 2
FIRST_VERSION_WITH_ABORTABLE = 4


async def handle(services: "Services", request: TxnOffsetCommitRequest, call: Call) -> TxnOffsetCommitResponse:
    known = []
    for topic in request.topics:
        await call.turn.next()
        for each in topic.partitions:
            if has_partition(services.cluster, topic.name, each.partition_index):
                known.append(_new_offset(topic.name, each))
            await call.turn.next()
    codes: dict[TopicPartition, ErrorCode] = {}
    for at in range(0, len(known), OFFSETS_A_BATCH):
        if at:
            await call.turn.next()
        batch = known[at : at + OFFSETS_A_BATCH]
        try:
            codes |= await _commit_batch(services, request, batch, call.version)
        except ApiError as error:
            codes |= {(each.topic, each.partition): error.code for each in batch}
    return _make_response(request, codes, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, call.version)


def refuse(request: TxnOffsetCommitRequest, error: ApiError, call: Call) -> TxnOffsetCommitResponse:
    return _make_response(request, {}, error.code, call.version)


def _new_offset(topic: str, asked: TxnOffsetCommitRequestPartition) -> NewOffset:
    return NewOffset(
        topic=topic,
        partition=asked.partition_index,
        offset=asked.committed_offset,
        leader_epoch=asked.committed_leader_epoch,
        metadata=asked.committed_metadata,
    )


async def _commit_batch(
    services: "Services", request: TxnOffsetCommitRequest, new: Sequence[NewOffset], version: int
) -> Mapping[TopicPartition, ErrorCode]:
    """Commits offsets; returns the error code of each partition. Raises: ApiError for all of them."""
    await services.groups.ensure_topic_and_check(request.group_id)
    topic = services.cluster.topics[OFFSETS_TOPIC]
    partition = topic.partitions[partition_of(request.group_id, len(topic.partitions))]
    verify(
        services.settings,
        lambda: services.transactions_for(request.transactional_id),
        partition,
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        knows_abortable=version >= FIRST_VERSION_WITH_ABORTABLE,
    )
    committer = Committer(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        producer=TransactionalProducer(producer_id=request.producer_id, producer_epoch=request.producer_epoch),
    )
    return await services.groups.commit_offsets(committer, new)


def _make_response(
    request: TxnOffsetCommitRequest, codes: Mapping[TopicPartition, ErrorCode], otherwise: ErrorCode, version: int
) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=_code_for_version(codes.get((topic.name, each.partition_index), otherwise), version),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _code_for_version(code: ErrorCode, version: int) -> ErrorCode:
    if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < FIRST_VERSION_WITH_LOADING:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return code
