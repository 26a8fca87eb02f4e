"""Delays, by a minute, the first deletion of records of a topic that was taken over.

Such a topic was kept whole while its settings were not known. Once they are known, the broker logs what it will delete
first in each partition, and waits a minute before it deletes: time to mend wrong settings. Each log directory has a
checkpoint of the partitions that still wait; after a restart the minute starts again. The checkpoint is written when
topics without settings are loaded, and at a clean stop.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ...network.clock import Clock
from ...storage.directories.log_manager import LogManager
from ..metadata.partition import Partition

if TYPE_CHECKING:
    from ..metadata.image import Topic

NOTICE_MS = 60_000

log = logging.getLogger(__name__)


class FirstDeletionDelay:
    """Retention and compaction ask `may_delete` before each deletion."""

    def __init__(self, clock: Clock, log_manager: LogManager) -> None:
        self._clock = clock
        self._log_manager = log_manager
        self._waiting = log_manager.checkpoints.read_partitions_awaiting_first_deletion()
        self._saved = frozenset(self._waiting)
        self._given_ms: dict[tuple[str, int], int] = {}

    def delay_deletions_of(self, topics: Iterable["Topic"]) -> None:
        """Delays the first deletions of these topics, which have no settings now.

        The checkpoints are on the disk when this returns. Raises: DiskFault.
        """
        self._waiting.update(each.key for topic in topics for each in topic.partitions.values() if each.is_here)
        self.save()

    def forget(self, topics: Iterable["Topic"]) -> None:
        """Forgets the partitions of deleted topics."""
        for key in [partition.key for topic in topics for partition in topic.partitions.values()]:
            self._waiting.discard(key)
            self._given_ms.pop(key, None)

    def save(self) -> None:
        """Writes the checkpoints if the waiting partitions have changed since the last write. Raises: DiskFault."""
        waiting = frozenset(self._waiting)
        if waiting != self._saved:
            self._log_manager.checkpoints.write_partitions_awaiting_first_deletion(waiting)
            self._saved = waiting

    def may_delete(self, partition: Partition, describe: Callable[[], Sequence[str]]) -> bool:
        """Whether records of the partition may be deleted now.

        If not, the first call logs `describe()` and starts the minute.
        """
        if partition.key not in self._waiting:
            return True
        given_ms = self._given_ms.get(partition.key)
        if given_ms is not None and self._clock.monotonic_ms() - given_ms < NOTICE_MS:
            return False
        texts = describe()
        if not texts:
            return True
        if given_ms is not None:
            self._waiting.discard(partition.key)
            return True
        self._given_ms[partition.key] = self._clock.monotonic_ms()
        for text in texts:
            log.warning(
                "%s-%d was taken over; in a minute its first records are deleted: %s. "
                "cleanup.policy=delete, retention.ms=-1 and retention.bytes=-1 (`stepdown topics alter`) keep them",
                *partition.key, text,
            )  # fmt: skip
        return False
