# cython: language_level=3
"""A record that waits in line before the accumulator (`intake.py` has the lines).

Compiled by Cython; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import cython

COMPILED: bool = cython.compiled


class WaitingRecord:
    """A record in line. `chosen` is the partition that a partitioner gave it after a new batch.

    `short_of` is how much memory was free when it found too little.
    """

    def __init__(self, topic: str, partition: object, entry: tuple, deadline_ms: cython.longlong) -> None:
        self.topic = topic
        self.partition = partition
        self.entry = entry
        self.deadline_ms = deadline_ms
        self.short_of = -1
        self.chosen = None

    @property
    def delivery(self):
        return self.entry[5]
