"""Reads the header of a request that is passed on, the acks of a Produce and the software of ApiVersions.

The layouts are in `protocol/frame.py`; versions may be newer than those that can be decoded here.
"""

from struct import Struct
from typing import NamedTuple

from ..protocol.errors import MalformedFrame
from ..protocol.primitives import read_uvarint, skip_tagged_fields

HEAD = Struct(">hhi")
INT16 = Struct(">h")
SIZE = Struct(">i")
PRODUCE_FLEXIBLE_FROM = 9
TRANSACTIONAL_ID_FROM = 3
NODE_FROM = 5
NO_NODE = b"\0" + SIZE.pack(-1) + b"\0"
"""Cluster id null, node id −1, no tagged fields."""


class RequestHead(NamedTuple):
    """The first fields of each request."""

    key: int
    version: int
    correlation_id: int


def read_head(frame: memoryview) -> RequestHead:
    """Raises: MalformedFrame."""
    if len(frame) < HEAD.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes has no whole header")
    return RequestHead(*HEAD.unpack_from(frame))


def read_client_id(frame: memoryview) -> str:
    """The client id, "" where there is none. Raises: MalformedFrame."""
    end = _client_id_end(frame)
    return str(frame[HEAD.size + INT16.size : end], "utf-8", "replace")


def acks_of_produce(frame: memoryview, version: int) -> int:
    """The acks of a Produce request; 0: no answer is due. Raises: MalformedFrame."""
    acks: int = INT16.unpack_from(frame, find_acks(frame, version))[0]
    return acks


def find_acks(frame: memoryview, version: int) -> int:
    """Where the acks of a Produce request stand. Raises: MalformedFrame."""
    at = _client_id_end(frame)
    if version >= PRODUCE_FLEXIBLE_FROM:
        at = skip_tagged_fields(frame, at)
        length, at = read_uvarint(frame, at)
        at += max(0, length - 1)
    elif version >= TRANSACTIONAL_ID_FROM:
        at = _string_end(frame, at)
    if at + INT16.size > len(frame):
        raise MalformedFrame("the Produce request ends where its acks should stand")
    return at


def drop_cluster_and_node_id(frame: memoryview) -> memoryview:
    """Returns an ApiVersions request from v5 on without the ids of the cluster and the broker that the client expects
    at this address (KIP-1242). Raises: MalformedFrame."""
    return memoryview(b"".join((frame[: _read_software(frame)[1]], NO_NODE)))


def read_software_text(frame: memoryview) -> tuple[str, str]:
    """Name and version of the client's software, in an ApiVersions request from v3 on. Raises: MalformedFrame."""
    name, version = (str(text, "utf-8", "replace") for text in _read_software(frame)[0])
    return name, version


def frame_with_size(frame: memoryview) -> list[bytes | memoryview]:
    """The frame with its size in front."""
    return [SIZE.pack(len(frame)), frame]


def replace_version(frame: memoryview, version: int) -> list[bytes | memoryview]:
    """The frame, size in front, with another version; the bodies of both versions have to be the same."""
    key, _, correlation_id = HEAD.unpack_from(frame)
    return [SIZE.pack(len(frame)) + HEAD.pack(key, version, correlation_id), frame[HEAD.size :]]


def _read_software(frame: memoryview) -> tuple[list[memoryview], int]:
    """The two texts, and where they end. Raises: MalformedFrame."""
    at = skip_tagged_fields(frame, _client_id_end(frame))
    texts = []
    for _ in range(2):
        length, begin = read_uvarint(frame, at)
        at = begin + max(0, length - 1)
        texts.append(frame[begin:at])
    if at > len(frame):
        raise MalformedFrame("the ApiVersions request ends within a text")
    return texts, at


def _client_id_end(frame: memoryview) -> int:
    return _string_end(frame, HEAD.size)


def _string_end(frame: memoryview, at: int) -> int:
    if at + INT16.size > len(frame):
        raise MalformedFrame("the request ends where a text should begin")
    end = at + INT16.size + max(0, INT16.unpack_from(frame, at)[0])
    if end > len(frame):
        raise MalformedFrame("a text of the request runs past its end")
    return int(end)
