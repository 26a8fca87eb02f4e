"""Replaces the addresses of brokers in answers by the gateway's own; all other bytes stay as they are.

    Metadata 0-13            brokers, at the front
    FindCoordinator 0-6      one coordinator, from v4 several
    DescribeCluster 0-2      brokers
    Produce 10-13            the brokers of new leaders (KIP-951), in a tagged field at the end
    ShareFetch, ShareAcknowledge 1-2    the same, in a field at the end

    Metadata answer   v3+: throttle int32 | count (int32, v9+: uvarint + 1) | per broker int32 id, string host, int32
                      port, v1+: nullable string rack, v9+: tagged fields | …     v9+: compact strings

Fetch has brokers from v16 on, after all records: it is sent as v15, which is the same otherwise
(`offered_versions.py`). DescribeQuorum 2 has listeners of controllers, which are no addresses for clients.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from struct import Struct
from typing import Any, TypeVar

from ...config.keys.endpoints import HostPort
from ...protocol.api import API, ApiKey
from ...protocol.errors import MalformedFrame
from ...protocol.frame import decode_response_body, encode_response
from ...protocol.primitives import read_uvarint, skip_tagged_fields, write_uvarint

Translate = Callable[[int, HostPort], HostPort]
"""From a broker's id and address in the cluster to its address at the gateway. Raises: OSError."""
Pieces = Sequence[bytes | memoryview]
T = TypeVar("T")
MOST_BROKERS = 10_000
NO_BROKER = -1
PRODUCE_NAMES_BROKERS_FROM = 10
_INT16, _INT32 = Struct(">h"), Struct(">i")


def has_broker_addresses(key: int, version: int) -> bool:
    """Whether answers of this version have addresses of brokers."""
    if key == ApiKey.PRODUCE:
        return version >= PRODUCE_NAMES_BROKERS_FROM
    return key in _REWRITES


def rewrite_addresses(key: int, version: int, body: bytes, translate: Translate) -> Sequence[bytes | memoryview]:
    """Returns the body of an answer, which follows its correlation id, with the addresses of the gateway. Raises:
    MalformedFrame, OSError as `translate`."""
    return _REWRITES[key](version, memoryview(body), translate)


def _rewrite_coordinator_answer(version: int, view: memoryview, translate: Translate) -> Pieces:
    spec = API[ApiKey.FIND_COORDINATOR]
    response = decode_response_body(spec, version, view)
    response = _rewrite_coordinators(response, translate)
    head = 8
    return [memoryview(b"".join(encode_response(spec, version, 0, response)))[head:]]  # type: ignore[arg-type]


def _rewrite_coordinators(response: Any, translate: Translate) -> Any:
    if response.coordinators:
        moved = [_translate_host_and_port(each, each.node_id, translate) for each in response.coordinators]
        return replace(response, coordinators=moved)
    return _translate_host_and_port(response, response.node_id, translate)


def _translate_host_and_port(value: T, broker: int, translate: Translate) -> T:
    """Returns a message with its `host` and `port` translated."""
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
        value: int = _INT32.unpack_from(self._view, self._advance(_INT32.size))[0]
        return value

    def count(self) -> int:
        return self.uvarint() - 1 if self._is_flexible else self.int32()

    def uvarint(self) -> int:
        value, self.at = read_uvarint(self._view, self.at)
        return value

    def skip(self, size: int) -> None:
        self._advance(size)

    def read_since(self, start: int) -> memoryview:
        """The bytes from `start` to the current position."""
        return self._view[start : self.at]

    def encode_text(self, text: str) -> bytes:
        """Encodes a string as the message does."""
        data = text.encode()
        return (write_uvarint(len(data) + 1) if self._is_flexible else _INT16.pack(len(data))) + data

    def string(self) -> memoryview:
        """The bytes of the whole field are passed; its text is returned, empty for null."""
        if self._is_flexible:
            size = self.uvarint() - 1
        else:
            size = _INT16.unpack_from(self._view, self._advance(_INT16.size))[0]
        begin = self._advance(max(size, 0))
        return self._view[begin : self.at]

    def skip_tags(self) -> None:
        if self._is_flexible:
            self.at = skip_tagged_fields(self._view, self.at)

    def _advance(self, size: int) -> int:
        begin = self.at
        if size > len(self._view) - begin:
            raise MalformedFrame(f"an answer ends at byte {len(self._view)}, where a field of {size} bytes should be")
        self.at = begin + size
        return begin


FLEXIBLE_FROM, THROTTLE_FROM, RACK_FROM = 9, 3, 1


def _rewrite_broker_list(
    reader: _AddressReader, translate: Translate, *, has_rack: bool = True, more_bytes: int = 0
) -> list[bytes | memoryview]:
    """Reads the list of brokers at the reader's position; returns it with translated addresses, its count included.

    `more_bytes` follow the rack of each broker.
    """
    start = reader.at
    count = reader.count()
    if not 0 <= count <= MOST_BROKERS:
        raise MalformedFrame(f"an answer with {count} brokers")
    out: list[bytes | memoryview] = [reader.read_since(start)]
    for _ in range(count):
        broker = reader.int32()
        host = str(reader.string(), "utf-8", "replace")
        address = HostPort(host, reader.int32())
        if broker != NO_BROKER and host:
            address = translate(broker, address)
        begin = reader.at
        if has_rack:
            reader.string()
        reader.skip(more_bytes)
        reader.skip_tags()
        out += (
            _INT32.pack(broker),
            reader.encode_text(address.host),
            _INT32.pack(address.port),
            reader.read_since(begin),
        )
    return out


def _rewrite_metadata(version: int, view: memoryview, translate: Translate) -> Pieces:
    is_flexible = version >= FLEXIBLE_FROM
    start = skip_tagged_fields(view, 0) if is_flexible else 0
    reader = _AddressReader(view, start + (4 if version >= THROTTLE_FROM else 0), is_flexible)
    first = view[: reader.at]
    moved = _rewrite_broker_list(reader, translate, has_rack=version >= RACK_FROM)
    return [first, *moved, view[reader.at :]]


FENCED_FROM, ENDPOINT_TYPE_FROM = 2, 1


def _rewrite_cluster(version: int, view: memoryview, translate: Translate) -> Pieces:
    """throttle int32, error int16, message, v1+: endpoint type int8, cluster id, controller int32 | brokers | …"""
    reader = _AddressReader(view, skip_tagged_fields(view, 0), is_flexible=True)
    reader.skip(6)
    reader.string()
    reader.skip(1 if version >= ENDPOINT_TYPE_FROM else 0)
    reader.string()
    reader.skip(4)
    first = view[: reader.at]
    moved = _rewrite_broker_list(reader, translate, more_bytes=1 if version >= FENCED_FROM else 0)
    return [first, *moved, view[reader.at :]]


IDS_FROM = 13
USUAL_PARTITION = b"\1\0\0"
"""The bytes after the fixed fields of a partition without an error: no record errors, message or tagged fields."""
PARTITION_BYTES = 30


def names_leaders(version: int, body: bytes | memoryview) -> bool:
    """Whether an answer to Produce of a version from 10 on may name brokers. Raises: MalformedFrame."""
    view = memoryview(body)
    return view[_find_produce_tags(version, view).at] != 0


def _rewrite_produce(version: int, view: memoryview, translate: Translate) -> Pieces:
    return _rewrite_tagged_fields(view, _find_produce_tags(version, view), translate)


def _find_produce_tags(version: int, view: memoryview) -> _AddressReader:
    """topics | throttle int32 | tagged fields: 0 is the list of brokers. A topic: its name, v13+: its id |
    partitions: 30 bytes, record errors, message, tagged fields | tagged fields"""
    reader = _AddressReader(view, skip_tagged_fields(view, 0), is_flexible=True)
    for _ in range(reader.count()):
        if version >= IDS_FROM:
            reader.skip(16)
        else:
            reader.string()
        for _ in range(reader.count()):
            reader.skip(PARTITION_BYTES)
            if view[reader.at : reader.at + 3] == USUAL_PARTITION:
                reader.skip(3)
            else:
                _skip_partition_fault(reader)
        reader.skip_tags()
    reader.skip(4)
    return reader


def _skip_partition_fault(reader: _AddressReader) -> None:
    for _ in range(reader.count()):
        reader.skip(4)
        reader.string()
        reader.skip_tags()
    reader.string()
    reader.skip_tags()


def _rewrite_tagged_fields(view: memoryview, reader: _AddressReader, translate: Translate) -> Pieces:
    """Rewrites the tagged fields from the reader's position to the end; field 0 is a list of brokers."""
    out: list[bytes | memoryview] = [view[: reader.at]]
    start = reader.at
    for _ in range(reader.uvarint()):
        tag, size = reader.uvarint(), reader.uvarint()
        if tag:
            reader.skip(size)
            continue
        out.append(view[start : reader.at - len(write_uvarint(size))])
        end = reader.at + size
        moved = b"".join(_rewrite_broker_list(reader, translate))
        if reader.at != end:
            raise MalformedFrame("a list of brokers that does not end with its field")
        out += (write_uvarint(len(moved)), moved)
        start = end
    out.append(view[start:])
    return out


LOCK_TIMEOUT_FROM: Mapping[int, int] = {ApiKey.SHARE_FETCH: 1, ApiKey.SHARE_ACKNOWLEDGE: 2}


def _rewrite_share(key: int, version: int, view: memoryview, translate: Translate) -> Pieces:
    """throttle int32, error int16, message, lock timeout int32 | topics | brokers | tagged fields. A topic: its id |
    partitions | tagged fields"""
    reader = _AddressReader(view, skip_tagged_fields(view, 0), is_flexible=True)
    reader.skip(6)
    reader.string()
    reader.skip(4 if version >= LOCK_TIMEOUT_FROM[key] else 0)
    for _ in range(reader.count()):
        reader.skip(16)
        for _ in range(reader.count()):
            _skip_share_partition(reader, is_fetched=key == ApiKey.SHARE_FETCH)
        reader.skip_tags()
    first = view[: reader.at]
    return [first, *_rewrite_broker_list(reader, translate), view[reader.at :]]


def _skip_share_partition(reader: _AddressReader, *, is_fetched: bool) -> None:
    """index int32, error int16, message | of a fetch: error int16, message | leader: two int32, tagged fields | of a
    fetch: records, acquired records of 18 bytes | tagged fields"""
    reader.skip(6)
    reader.string()
    if is_fetched:
        reader.skip(2)
        reader.string()
    reader.skip(8)
    reader.skip_tags()
    if is_fetched:
        reader.string()
        for _ in range(reader.count()):
            reader.skip(18)
            reader.skip_tags()
    reader.skip_tags()


Rewrite = Callable[[int, memoryview, Translate], Pieces]
_REWRITES: Mapping[int, Rewrite] = {
    ApiKey.METADATA: _rewrite_metadata,
    ApiKey.FIND_COORDINATOR: _rewrite_coordinator_answer,
    ApiKey.DESCRIBE_CLUSTER: _rewrite_cluster,
    ApiKey.PRODUCE: _rewrite_produce,
    ApiKey.SHARE_FETCH: partial(_rewrite_share, ApiKey.SHARE_FETCH),
    ApiKey.SHARE_ACKNOWLEDGE: partial(_rewrite_share, ApiKey.SHARE_ACKNOWLEDGE),
}
