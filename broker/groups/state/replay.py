"""From records of `__consumer_offsets` to groups and offsets: at the start for all, later for those just written.

Source: Kafka 3.9, GroupMetadataManager.replay and OffsetMetadataManager.replay.
"""

import logging
from typing import Any

from ....protocol.coordinator.consumer_group_records import ConsumerGroupMetadataKey
from ....protocol.coordinator.group_log import GroupRecord
from ....protocol.coordinator.group_records import GroupMetadataKey
from ....protocol.coordinator.offset_records import OffsetCommitKey
from ..classic.group import ClassicGroup, load_classic_group
from ..consumer.group import ConsumerGroup
from ..group_registry import GroupRegistry
from ..offsets.committed_offsets import NO_PRODUCER, Offsets

log = logging.getLogger(__name__)


class Replay:
    """Applies records of the log to groups and offsets."""

    def __init__(self, groups: GroupRegistry, offsets: Offsets) -> None:
        self._groups = groups
        self._offsets = offsets

    def apply(self, record: GroupRecord, record_offset: int, producer_id: int = NO_PRODUCER) -> None:
        """Applies one record. `producer_id`: that of its batch, if the batch is transactional."""
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey):
            if value is not None:
                self._groups.find_or_make_for_offsets(key.group, None)
            self._offsets.apply(key, value, record_offset, producer_id)
        elif isinstance(key, GroupMetadataKey):
            self._apply_classic(key.group, value)
        else:
            self._apply_consumer(record)

    def _apply_classic(self, group_id: str, value: Any | None) -> None:
        if value is not None:
            self._groups.put(load_classic_group(value, group_id))
        elif isinstance(self._groups.find(group_id), ClassicGroup):
            self._groups.remove(group_id)

    def _apply_consumer(self, record: GroupRecord) -> None:
        group_id = record.key.group_id
        group = self._groups.find(group_id)
        if record.value is None and isinstance(record.key, ConsumerGroupMetadataKey):
            if isinstance(group, ConsumerGroup):
                self._groups.remove(group_id)
            return
        if not isinstance(group, ConsumerGroup):
            if record.value is None:
                return
            if group is not None and group.protocol_type is not None:
                log.warning("group %s: a record of a consumer group replaces the classic group of that name", group_id)
            group = ConsumerGroup(group_id)
            self._groups.put(group)
        group.apply(record)
