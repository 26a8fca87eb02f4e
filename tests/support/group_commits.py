"""Offsets committed by hand: OffsetCommit v2 of a group without members."""

import struct

from .clients_raw import Raw, Reader, request, string

API_OFFSET_COMMIT = 8


def commit_offset(client: Raw, group: str, topic: str, offset: int, partition: int = 0) -> None:
    """Commit, and fail unless the coordinator took it."""
    body = string(group) + struct.pack(">i", -1) + string("") + struct.pack(">qi", -1, 1) + string(topic)
    body += struct.pack(">iiq", 1, partition, offset) + string("")
    reader = Reader(client.exchange(request(API_OFFSET_COMMIT, 2, body)))
    assert reader.take("i") == 1
    reader.string()
    assert (reader.take("i"), reader.take("i"), reader.take("h")) == (1, partition, 0)
