"""The partitioner of Kafka 3.3 and later (KIP-794): sticks by bytes, and prefers partitions with short queues.

    queue lengths      0  3  1
    weight             4  1  3      longest + 1 - length
    table              4  5  8      draw r in [0, 8), take the first entry above r

A partition is left after `batch.size` bytes, once its last batch is full, and after twice as many in any case; the next
draw may find it again. Source: Kafka 3.9, BuiltInPartitioner.
"""

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from .partitioner import TopicView
from .sticky_partition import StickyPartition


class BuiltInPartitioner:
    """The choice for one topic. `choice` is that of now; past `most_bytes` it ends in any case."""

    def __init__(self, sticky_bytes: int, draws: random.Random) -> None:
        self.sticky_bytes = sticky_bytes
        self.most_bytes = 2 * sticky_bytes
        self._draws = draws
        self.choice: StickyPartition | None = None
        self._table: Sequence[int] = ()
        self._partitions: Sequence[int] = ()

    def current(self, view: TopicView) -> StickyPartition:
        if self.choice is None:
            self.choice = StickyPartition(self._draw(view))
        return self.choice

    def count_append(self, choice: StickyPartition, size_bytes: int, view: TopicView, may_leave: bool) -> bool:
        """Counts bytes for `choice`; returns whether that ended it. `may_leave`: the queue's last batch is full."""
        choice.produced_bytes += size_bytes
        enough = choice.produced_bytes >= self.sticky_bytes and may_leave
        if enough or choice.produced_bytes >= self.most_bytes:
            self.choice = StickyPartition(self._draw(view))
            return True
        return False

    def update_load(self, lengths: Sequence[int] | None, partitions: Sequence[int], total: int) -> None:
        """Takes the queue lengths of `partitions` (those with a leader) out of `total`; None: nothing is known."""
        self._table = self._partitions = ()
        if not lengths or total < 2:
            return
        if len(lengths) == total and min(lengths) == max(lengths):
            return
        longest = max(lengths)
        self._table = list(accumulate(longest + 1 - length for length in lengths))
        self._partitions = tuple(partitions)

    @property
    def table(self) -> Sequence[int]:
        """The cumulated weights; empty when each partition is as good."""
        return self._table

    def _draw(self, view: TopicView) -> int:
        if self._table:
            return self._partitions[bisect_right(self._table, self._draws.randrange(self._table[-1]))]
        if view.available:
            return self._draws.choice(view.available) if len(view.available) > 1 else view.available[0]
        return self._draws.randrange(view.partitions)
