# cython: language_level=3
"""Where records come in: `send` finds the lane of those that have one, and leaves all others to the long way.

Compiled by Cython, since it is called for each record; uncompiled, the same file is the readable twin.
"""

from __future__ import annotations

import cython

COMPILED: bool = cython.compiled


@cython.cclass
class FastSend:
    """The half of a producer that takes records; the other half has `_send`. `_lanes` are by topic."""

    _lanes = cython.declare(dict, visibility="public")
    _clock = cython.declare(object, visibility="public")

    def send(self, topic, value=None, *, key=None, partition=None, timestamp=None, headers=(), callback=None):
        """The delivery of a record: await it for the RecordMetadata. Timestamps are in ms since 1970.

        Raises: ValueError for a negative partition or timestamp, Serialization, ProducerClosed, WrongState outside of a
        transaction where there have to be some. Whatever else goes wrong the delivery and the callback are told.
        """
        if type(value) is bytes and key is None and partition is None and timestamp is None and not headers:
            lane = self._lanes.get(topic)
            if lane is not None:
                alone = lane.send(value, self._clock.now_ms(), callback)
                if alone is not None:
                    return alone
        return self._send(topic, value, key, partition, timestamp, headers, callback)
