# cython: language_level=3
"""A record between `send` and its batch.

Compiled by Cython; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.stepdown.producer.delivery import Delivery
else:
    from .delivery import Delivery

COMPILED: bool = cython.compiled

WAITING_BYTES = 300
"""What a record in line takes beside its bytes, as objects of Python."""


class PendingRecord:
    """A record on its way into a batch. Its timestamp is that of its delivery; `partition` is what `send` was given.

    `bound_bytes`: the most that it takes alone. In line it has `deadline_ms`, and `short_of`: how much memory was free
    when it found too little. `chosen` is the partition that a partitioner gave it after a new batch.
    """

    def __init__(
        self,
        partition: object,
        key: bytes | None,
        value: bytes | None,
        headers: bytes,
        bound_bytes: cython.longlong,
        delivery: Delivery,
    ) -> None:
        self.topic, self.partition, self.delivery = delivery.topic, partition, delivery
        self.key, self.value, self.headers, self.bound_bytes = key, value, headers, bound_bytes
        self.deadline_ms, self.short_of, self.chosen = 0, -1, None

    @property
    def held_bytes(self):
        """What it counts for while it waits."""
        return self.bound_bytes + WAITING_BYTES
