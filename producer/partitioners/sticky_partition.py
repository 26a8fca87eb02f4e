# cython: language_level=3
"""The partition that the built-in partitioner sticks to, for as long as it does.

Compiled by Cython, as each record without a key asks it; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import cython

COMPILED: bool = cython.compiled


class StickyPartition:
    """A partition, for as long as the built-in partitioner sticks to it.

    `produced_bytes` were appended to it meanwhile; `batch` is the one that was appended to last.
    """

    def __init__(self, partition: cython.Py_ssize_t) -> None:
        self.partition = partition
        self.produced_bytes = 0
        self.batch = self.buffer = None

    def set_batch(self, batch):
        """Takes the batch to append to from now on."""
        self.batch, self.buffer = batch, batch.buffer
