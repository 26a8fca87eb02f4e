"""MarkerWriter: the control batches that end a transaction in each of its partitions.

The leader of each partition is in this process, which appends the marker directly; Kafka sends WriteTxnMarkers. A
partition whose topic was deleted needs no marker. Other errors of a marker (Kafka 3.9,
TransactionMarkerRequestCompletionHandler):

    retriable, or the disk                     tried again
    INVALID_PRODUCER_EPOCH 47, 52              the partition knows a later producer or coordinator: counts as done;
                                               Kafka gives up and leaves the id unusable until a restart
    UNSUPPORTED_FOR_MESSAGE_FORMAT 43, 35      cannot happen: all is written in magic 2
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ...network.turn import Turn
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.records.builder import build_control_marker
from ...protocol.records.layout import ControlType
from ...storage.validation.prepared_append import AppendOrigin
from ...storage.validation.record_sets import prepare
from ..metadata.partition import Partition
from ..metadata.topic_rules import OFFSETS_TOPIC
from .transaction import TopicPartition

if TYPE_CHECKING:
    from ..core import Core
    from ..groups.coordinator import GroupCoordinator

OUTDATED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerMarker:
    """A producer's commit or abort, and the epoch of the coordinator that decided it."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool


class MarkerWriter:
    """Writes markers into partitions that this broker leads, or through the marker writer of the leader."""

    def __init__(
        self,
        core: "Core",
        groups: "Callable[[], GroupCoordinator]",
        markers_of: "Callable[[int], MarkerWriter | None]" = lambda _: None,
    ) -> None:
        self._markers_of = markers_of
        self._groups = groups
        self._core = core

    async def try_to_write_all(
        self, marker: ProducerMarker, partitions: Iterable[TopicPartition]
    ) -> set[TopicPartition]:
        """Tries each partition once, in turns. Returns those that have to be tried again."""
        left, turn = set(), self._core.turns.begin()
        for topic, index in sorted(partitions):
            try:
                await self.write_at_leader(marker, topic, index, turn)
            except ApiError as error:
                if not self._is_settled(error, marker, topic, index):
                    left.add((topic, index))
            await turn.next()
        return left

    def _is_settled(self, error: ApiError, marker: ProducerMarker, topic: str, index: int) -> bool:
        if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return True
        place = f"the marker of producer {marker.producer_id}, epoch {marker.producer_epoch}, in {topic}-{index}"
        if error.code in OUTDATED:
            log.warning("%s is not wanted any more: %s", place, error)
            return True
        self._core.metrics.transaction_append_errors.of("marker").add()
        log.warning("%s could not be written and is tried again: %s", place, error)
        return False

    async def write_at_leader(self, marker: ProducerMarker, topic_name: str, index: int, turn: Turn) -> None:
        """Appends the marker at the partition's leader. Raises: ApiError."""
        leader_id = self._core.cluster.partition(topic_name, index).leader_id
        leader = None if leader_id == self._core.cluster.node_id else self._markers_of(leader_id)
        await (leader or self).write_here(marker, topic_name, index, turn)

    async def write_here(self, marker: ProducerMarker, topic_name: str, index: int, turn: Turn) -> None:
        """Appends the marker; in the offsets topic it also commits or drops pending offsets. Raises: ApiError."""
        partition = self._core.cluster.partition(topic_name, index)
        self._core.cluster.check_led_here(partition)
        if any(each.loses_marker(topic_name, index) for each in self._core.interceptors):
            return
        self._append(marker, partition)
        if topic_name == OFFSETS_TOPIC:
            await self._groups().complete_transaction(
                marker.producer_id, marker.producer_epoch, committed=marker.committed, partition=index, turn=turn
            )

    def _append(self, marker: ProducerMarker, partition: Partition) -> None:
        now_ms = self._core.clock.now_ms()
        data = build_control_marker(
            ControlType.COMMIT if marker.committed else ControlType.ABORT,
            offset=0,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp=now_ms,
        )
        rules = self._core.append_rules_of(self._core.cluster.topics[partition.topic_name])
        prepared = prepare(memoryview(data), rules, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)
        self._core.append(partition, prepared)
