"""What retention and compaction are about to delete of topics that were taken over is said a minute before.

Such a topic was kept whole while its settings were not known. Once they are, its first deletion in each partition has
a line in the log, and happens a minute later at the earliest: time to say that the settings are wrong. This holds in
the process that has seen the topic without settings; `stepdown topics adopt` on a directory at rest tells who adopts.
"""

import logging
from collections.abc import Callable, Iterable, Sequence

from ...network.clock import Clock
from ..metadata.partition import Partition

NOTICE_MS = 60_000

log = logging.getLogger(__name__)


class DeletionNotice:
    """Asked before each deletion."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._topics: set[str] = set()
        self._given_ms: dict[tuple[str, int], int] = {}

    def watch(self, topics: Iterable[str]) -> None:
        """These topics are without settings now."""
        self._topics.update(topics)

    def is_over(self, partition: Partition, describe: Callable[[], Sequence[str]]) -> bool:
        """Whether the partition's records may be deleted; `describe` says which, and why."""
        if partition.topic_name not in self._topics:
            return True
        given_ms = self._given_ms.get(partition.key)
        if given_ms is not None:
            return self._clock.now_ms() - given_ms >= NOTICE_MS
        texts = describe()
        if not texts:
            return True
        self._given_ms[partition.key] = self._clock.now_ms()
        for text in texts:
            log.warning(
                "%s-%d was taken over; in a minute its first records are deleted: %s. "
                "cleanup.policy=delete, retention.ms=-1 and retention.bytes=-1 (`stepdown topics alter`) keep them",
                *partition.key, text,
            )  # fmt: skip
        return False
