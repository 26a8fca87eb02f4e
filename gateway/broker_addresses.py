"""Where answers name brokers, the gateway's own addresses take their place.

    Metadata 0-13            brokers, at the front: the rest stays as it came
    FindCoordinator 0-6      one coordinator, from v4 several
    DescribeCluster 0-1      brokers
    Produce 10-12            the brokers of new leaders (KIP-951)

    Metadata answer   v3+: throttle int32 | count (int32, v9+: uvarint + 1) | per broker int32 id, string host, int32
                      port, v1+: nullable string rack, v9+: tagged fields | …     v9+: compact strings

Later versions are not offered (`offered_versions.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from struct import Struct
from typing import Any, TypeVar

from ..config.keys.endpoints import HostPort
from ..protocol.api import API, ApiKey
from ..protocol.errors import MalformedFrame
from ..protocol.frame import decode_response, encode_response
from ..protocol.primitives import read_uvarint, skip_tagged_fields, write_uvarint

Translate = Callable[[int, HostPort], HostPort]
"""Gives the address at the gateway of a broker that the cluster says is at this one. Raises: OSError."""
T = TypeVar("T")
MOST_BROKERS = 10_000
NO_BROKER = -1
PRODUCE_NAMES_BROKERS_FROM = 10
_INT16, _INT32 = Struct(">h"), Struct(">i")


def names_brokers(key: int, version: int) -> bool:
    """Whether the answer has addresses in it."""
    if key == ApiKey.PRODUCE:
        return version >= PRODUCE_NAMES_BROKERS_FROM
    return key in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER)


def rewrite_addresses(key: int, version: int, body: bytes, translate: Translate) -> Sequence[bytes | memoryview]:
    """The body of an answer, what follows its correlation id, with the addresses of the gateway. Raises:
    MalformedFrame, OSError as `translate`."""
    if key == ApiKey.METADATA:
        return _rewrite_metadata(version, memoryview(body), translate)
    spec = API[ApiKey(key)]
    known = min(version, spec.max_version)  # Produce 12 has the layout of 11
    _, response = decode_response(spec, known, memoryview(b"\0\0\0\0" + body))
    if key == ApiKey.FIND_COORDINATOR:
        response = _rewrite_coordinators(response, translate)
    elif key == ApiKey.DESCRIBE_CLUSTER:
        response = replace(response, brokers=[_move(each, each.broker_id, translate) for each in response.brokers])
    else:
        if not response.node_endpoints:
            return [body]
        endpoints = [_move(each, each.node_id, translate) for each in response.node_endpoints]
        response = replace(response, node_endpoints=endpoints)
    head = 8
    return [memoryview(b"".join(encode_response(spec, known, 0, response)))[head:]]  # type: ignore[arg-type]


def _rewrite_coordinators(response: Any, translate: Translate) -> Any:
    if response.coordinators:
        moved = [_move(each, each.node_id, translate) for each in response.coordinators]
        return replace(response, coordinators=moved)
    return _move(response, response.node_id, translate)


def _move(value: T, broker: int, translate: Translate) -> T:
    """A value with `host` and `port`, at the gateway."""
    found: Any = value
    if broker == NO_BROKER or not found.host:
        return value
    address = translate(broker, HostPort(found.host, found.port))
    moved: T = replace(found, host=address.host, port=address.port)
    return moved


class _AddressReader:
    """Reads the fields of a message that is not decoded as a whole. Raises: MalformedFrame."""

    def __init__(self, view: memoryview, at: int, is_flexible: bool) -> None:
        self.at = at
        self._view = view
        self._is_flexible = is_flexible

    def int32(self) -> int:
        value: int = _INT32.unpack_from(self._view, self._forward(_INT32.size))[0]
        return value

    def count(self) -> int:
        if not self._is_flexible:
            return self.int32()
        value, self.at = read_uvarint(self._view, self.at)
        return value - 1

    def string(self) -> memoryview:
        """The bytes of the whole field are passed; its text is returned, empty for null."""
        if self._is_flexible:
            value, self.at = read_uvarint(self._view, self.at)
            size = value - 1
        else:
            size = _INT16.unpack_from(self._view, self._forward(_INT16.size))[0]
        begin = self._forward(max(size, 0))
        return self._view[begin : self.at]

    def tags(self) -> None:
        if self._is_flexible:
            self.at = skip_tagged_fields(self._view, self.at)

    def _forward(self, size: int) -> int:
        begin = self.at
        if size > len(self._view) - begin:
            raise MalformedFrame(f"an answer ends at byte {len(self._view)}, where a field of {size} bytes should be")
        self.at = begin + size
        return begin


FLEXIBLE_FROM, THROTTLE_FROM, RACK_FROM = 9, 3, 1


def _rewrite_metadata(version: int, view: memoryview, translate: Translate) -> Sequence[bytes | memoryview]:
    is_flexible = version >= FLEXIBLE_FROM
    start = skip_tagged_fields(view, 0) if is_flexible else 0
    reader = _AddressReader(view, start + (4 if version >= THROTTLE_FROM else 0), is_flexible)
    count = reader.count()
    if not 0 <= count <= MOST_BROKERS:
        raise MalformedFrame(f"a Metadata answer with {count} brokers")
    out: list[bytes | memoryview] = [view[: reader.at]]
    for _ in range(count):
        broker = reader.int32()
        host = str(reader.string(), "utf-8", "replace")
        address = translate(broker, HostPort(host, reader.int32()))
        begin = reader.at
        if version >= RACK_FROM:
            reader.string()
        reader.tags()
        text = address.host.encode()
        length = write_uvarint(len(text) + 1) if is_flexible else _INT16.pack(len(text))
        out += (_INT32.pack(broker), length, text, _INT32.pack(address.port), view[begin : reader.at])
    out.append(view[reader.at :])
    return out
