# cython: language_level=3
"""One stay of the built-in partitioner at a partition. Compiled by Cython; uncompiled, the same file is its twin."""

from __future__ import annotations

import cython

COMPILED: bool = cython.compiled


class StickyPartition:
    """How many bytes the sticky path appended to the partition so far; `batch` is the one that it appended to last."""

    def __init__(self, partition: cython.Py_ssize_t) -> None:
        self.partition = partition
        self.produced_bytes = 0
        self.batch = self.buffer = None

    def go_on_in(self, batch):
        """Takes the batch to append to from now on."""
        self.batch, self.buffer = batch, batch.buffer
