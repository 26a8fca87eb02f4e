"""Loading `__consumer_offsets` at the start: which partitions are not loaded yet, and what follows when one is.

Groups of a partition that is being loaded are answered COORDINATOR_LOAD_IN_PROGRESS; those of one that cannot be read
NOT_COORDINATOR, as in Kafka: clients would act on a wrong answer that nothing was committed. All others are served.
"""

import logging
from collections.abc import Callable, Sequence
from time import perf_counter

from ....protocol.errors import ApiError
from ....protocol.plural import plural
from ...maintenance.internal_topic_loading import PartitionLoading
from ...scheduling.round_faults import RoundFaults
from ..classic.group import ClassicGroup
from ..group_registry import Group, GroupRegistry
from ..offsets.committed_offsets import Offsets
from .offsets_topic_store import OffsetsTopic
from .replay import Replay

log = logging.getLogger(__name__)


class GroupLoading(PartitionLoading):
    """Loads partitions one after the other; `on_loaded` is called with each group, to start its timers."""

    def __init__(
        self,
        rounds: RoundFaults,
        topic: OffsetsTopic,
        groups: GroupRegistry,
        offsets: Offsets,
        replay: Replay,
        on_loaded: Callable[[Group], None],
    ) -> None:
        super().__init__()
        self._rounds = rounds
        self._topic = topic
        self._groups = groups
        self._offsets = offsets
        self._replay = replay
        self._on_loaded = on_loaded
        self._damaged: set[int] = set()

    def is_damaged(self, partition: int) -> bool:
        """Whether the partition could be read only in part."""
        return partition in self._damaged

    def cancel_all(self) -> None:
        super().cancel_all()
        self._damaged.clear()

    def start(self) -> None:
        """Begins to load all partitions that have records; without any, loading is over at once."""
        self.load(self._topic.partitions_with_records())

    async def load_all(self, partitions: Sequence[int], loading: object) -> None:
        began = perf_counter()
        for partition in partitions:
            with self._rounds.catch_item_fault("loading", f"__consumer_offsets-{partition}"):
                await self._load_partition(partition, loading)
        seconds = perf_counter() - began
        found = f"{plural(len(self._groups), 'group')} and {plural(len(self._offsets), 'offset')}"
        log.info("loaded %s in %.3f s", found, seconds)

    async def _load_partition(self, partition: int, loading: object) -> None:
        self._damaged.discard(partition)
        try:
            async for entry in self._topic.read_entries(partition):
                if not self.is_current(partition, loading):
                    return
                if entry.record is not None:
                    self._replay.apply(entry.record, entry.offset, entry.producer_id)
                else:
                    self._end_transaction(partition, entry.producer_id, is_commit=entry.is_commit)
        except Exception as error:
            if not self.is_current(partition, loading):
                return
            self._damaged.add(partition)
            log.error(
                "__consumer_offsets-%d is damaged: %s. Its groups are answered NOT_COORDINATOR until the partition is "
                "restored and the broker started again, or the topic deleted, with all committed offsets",
                *(partition, error),
                exc_info=None if isinstance(error, ApiError) else error,
            )
        if not self.is_current(partition, loading):
            return
        self.finish_loading(partition, loading)
        for group in self._groups:
            with self._rounds.catch_item_fault("loading", f"group {group.group_id}"):
                if self._topic.partition_of(group.group_id) == partition:
                    self._keep_or_remove_group(group)

    def _end_transaction(self, partition: int, producer_id: int, *, is_commit: bool) -> None:
        for group_id in self._offsets.groups_of_producer(producer_id):
            if self._topic.partition_of(group_id) == partition:
                self._offsets.end_transaction(group_id, producer_id, committed=is_commit)
                self._groups.find_or_make_for_offsets(group_id, None)

    def _keep_or_remove_group(self, group: Group) -> None:
        """Removes a group that only held offsets, all of which a later record of the log deleted."""
        group_id = group.group_id
        is_used = bool(self._offsets.of_group(group_id)) or self._offsets.has_open_transactions(group_id)
        if isinstance(group, ClassicGroup) and group.protocol_type is None and not group.members and not is_used:
            self._groups.remove(group_id)
        else:
            self._on_loaded(group)
