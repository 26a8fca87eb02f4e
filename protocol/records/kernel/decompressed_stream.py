# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A decompressed stream of records or messages, taken in pieces."""

from __future__ import annotations

import cython

from .run_status import fault

if cython.compiled:
    from cython.cimports.stepdown.protocol.records.kernel.buffer_pointers import RELEASE_BYTES, sink_of, source_of
    from cython.cimports.stepdown.protocol.records.kernel.run_status import DONE
else:
    from .buffer_pointers import RELEASE_BYTES, sink_of, source_of
    from .item import Item
    from .run_status import DONE

COMPILED: bool = cython.compiled


class Stream:
    """Takes a decompressed stream in pieces. A piece may end anywhere; the unused rest has to be passed again."""

    def take_whole_items(self, item: Item) -> int:
        """Takes all whole records or messages, reading each into `item`; returns a run status."""
        return DONE

    def feed(
        self, data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t, out: cython.uchar[::1]
    ) -> tuple[int, int, int]:
        """Takes all whole records or messages from position `at` on, as far as `out` has room.

        Returns: position reached, bytes written to `out`, and what it needs to go on: 0 for more bytes, n for n bytes
        from the position on, -n for n bytes of room.

        Raises: CorruptRecord, InvalidRecord.
        """
        status: cython.int
        item: Item = self.item
        if at < 0:
            raise ValueError(f"position {at}")
        self.end, self.room = len(data), len(out)
        self.data, self.sink = source_of(data), sink_of(out)
        self.at, self.written, self.wanted = at, 0, 0
        if self.end - at < RELEASE_BYTES:
            status = self.take_whole_items(item)
        else:
            with cython.nogil:
                status = self.take_whole_items(item)
        if status != DONE:
            raise fault(status, self.last)
        return self.at, self.written, self.wanted
