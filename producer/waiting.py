"""A record that waits in line before the accumulator (`intake.py` has the lines)."""

from .batch import Entry
from .delivery import Delivery


class Waiting:
    """A record in line. `chosen` is the partition that a partitioner gave it after a new batch.

    `short_of` is how much memory was free when it found too little.
    """

    __slots__ = ("chosen", "deadline_ms", "entry", "partition", "short_of", "topic")

    def __init__(self, topic: str, partition: int | None, entry: Entry, deadline_ms: int) -> None:
        self.topic = topic
        self.partition = partition
        self.entry = entry
        self.deadline_ms = deadline_ms
        self.short_of = -1
        self.chosen: int | None = None

    @property
    def delivery(self) -> Delivery:
        return self.entry[5]

    @property
    def may_go_by_lane(self) -> bool:
        """Whether it has neither partition nor key."""
        return self.partition is None and self.entry[1] is None
