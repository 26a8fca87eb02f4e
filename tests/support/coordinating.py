"""Coordinators for a producer before a scripted cluster: they answer well, or with the codes that a test lays out.

    cluster.other = (coordinators := Coordinators())
    coordinators.codes[ApiKey.END_TXN] = [ErrorCode.NOT_COORDINATOR]       # once; then it answers well again

`asked` has each request with its name and its message, in order. `held` names APIs whose requests get no answer.
"""

from dataclasses import dataclass, field
from typing import Any

from stepdown.producer.sender.network_interface import NetworkAnswer
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from stepdown.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from stepdown.protocol.messages.end_txn import EndTxnResponse
from stepdown.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from stepdown.protocol.messages.init_producer_id import InitProducerIdResponse
from stepdown.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from support.producing import Asked

COORDINATOR = 77
"""The node that coordinates everything."""


@dataclass
class Coordinators:
    """All coordinators of a cluster."""

    codes: dict[ApiKey, list[ErrorCode]] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    held: set[ApiKey] = field(default_factory=set)
    waiting: list[Asked] = field(default_factory=list)
    node_id: int = COORDINATOR
    producer_id: int = 5
    epoch: int = -1

    def __call__(self, asked: Asked) -> None:
        self.asked.append((asked.key.name, asked.request))
        self.nodes.append(asked.node_id)
        if asked.key in self.held:
            self.waiting.append(asked)
        else:
            self.answer(asked)

    @property
    def names(self) -> list[str]:
        """The APIs that were asked, in order."""
        return [name for name, _ in self.asked]

    def of(self, key: ApiKey) -> list[Any]:
        """The messages to one API."""
        return [message for name, message in self.asked if name == key.name]

    def release(self) -> None:
        """Answers what was held."""
        self.held.clear()
        waiting, self.waiting = self.waiting, []
        for asked in waiting:
            self.answer(asked)

    def answer(self, asked: Asked) -> None:
        codes = self.codes.get(asked.key, [])
        code = codes.pop(0) if codes else ErrorCode.NONE
        response = None if code is ErrorCode.NETWORK_EXCEPTION else self._response(asked, code)
        answer = NetworkAnswer(response=response, failure=code if response is None else None)
        asked.cluster.clock.call_later(0, lambda: asked.done(answer))

    def _response(self, asked: Asked, code: ErrorCode) -> Any:
        request = asked.request
        match asked.key:
            case ApiKey.FIND_COORDINATOR:
                found = Coordinator(
                    key=request.coordinator_keys[0], node_id=self.node_id, host="127.0.0.1", port=9777, error_code=code
                )
                return FindCoordinatorResponse(coordinators=(found,))
            case ApiKey.INIT_PRODUCER_ID:
                self.epoch += code is ErrorCode.NONE
                return InitProducerIdResponse(
                    error_code=code, producer_id=self.producer_id, producer_epoch=max(0, self.epoch)
                )
            case ApiKey.ADD_PARTITIONS_TO_TXN:
                return AddPartitionsToTxnResponse(
                    results_by_topic_v3_and_below=[
                        AddPartitionsToTxnTopicResult(
                            name=topic.name,
                            results_by_partition=[
                                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                                for index in topic.partitions
                            ],
                        )
                        for topic in request.v3_and_below_topics
                    ]
                )
            case ApiKey.ADD_OFFSETS_TO_TXN:
                return AddOffsetsToTxnResponse(error_code=code)
            case ApiKey.TXN_OFFSET_COMMIT:
                return TxnOffsetCommitResponse(
                    topics=[
                        TxnOffsetCommitResponseTopic(
                            name=topic.name,
                            partitions=[
                                TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code)
                                for part in topic.partitions
                            ],
                        )
                        for topic in request.topics
                    ]
                )
        assert asked.key is ApiKey.END_TXN, asked.key.name
        return EndTxnResponse(error_code=code)
