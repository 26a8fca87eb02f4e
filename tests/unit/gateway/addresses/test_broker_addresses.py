"""The addresses of brokers in answers."""

import struct
from uuid import UUID

import pytest
from stepdown.config import HostPort
from stepdown.gateway.addresses.broker_addresses import rewrite_addresses
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import MalformedFrame
from stepdown.protocol.frame import encode_response
from stepdown.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker, MetadataResponseTopic

METADATA = API[ApiKey.METADATA]
TOP_LEVEL_ERROR_FROM = 13
"""Of Kafka 4; the code stands at the end, before the tagged fields."""


def metadata_body(version: int, host: str, port: int) -> bytes:
    brokers = [
        MetadataResponseBroker(node_id=number, host=host, port=port + number, rack="a" if version else None)
        for number in (3, 70_000)
    ]
    topics = [MetadataResponseTopic(error_code=3, name="orders")]
    response = MetadataResponse(brokers=brokers, topics=topics)
    known = min(version, METADATA.max_version)
    body = b"".join(map(bytes, encode_response(METADATA, known, 0, response)))[8:]  # type: ignore[arg-type]
    return body if version < TOP_LEVEL_ERROR_FROM else body[:-1] + b"\0\x1d" + body[-1:]


@pytest.mark.parametrize("version", range(14))
def test_metadata_names_the_gateway_and_keeps_all_else(version: int) -> None:
    asked = []

    def translate(broker: int, address: HostPort) -> HostPort:
        asked.append((broker, address))
        return HostPort("gateway.example", 9100 + broker)

    rewritten = rewrite_addresses(ApiKey.METADATA, version, metadata_body(version, "kafka", 1000), translate)
    assert b"".join(rewritten) == metadata_body(version, "gateway.example", 9100)
    assert asked == [(3, HostPort("kafka", 1003)), (70_000, HostPort("kafka", 71_000))]


def to_gateway(broker: int, address: HostPort) -> HostPort:
    return HostPort("gateway.example", 9100 + broker)


def text(value: str | None) -> bytes:
    """A compact string of less than 127 bytes."""
    return b"\0" if value is None else bytes((len(value) + 1,)) + value.encode()


def endpoints(host: str, port: int) -> bytes:
    """Two brokers, 3 and 5, as lists of new leaders have them."""
    rows = [struct.pack(">i", n) + text(host) + struct.pack(">i", port + n) + text("a") + b"\0" for n in (3, 5)]
    return b"\3" + b"".join(rows)


TOPIC = UUID(int=7)
LEADER = struct.pack(">ii", 3, 1) + b"\0"
FAULT = b"\2" + struct.pack(">i", 1) + text("bad") + b"\0" + text("worse") + b"\1\0\x09" + LEADER


def produce_body(version: int, host: str, port: int, *, tags: bool = True) -> bytes:
    partitions = b"\3" + bytes(30) + b"\1\0\0" + bytes(30) + FAULT
    name = TOPIC.bytes if version >= 13 else text("orders")
    moved = endpoints(host, port)
    tagged = b"\2\0" + bytes((len(moved),)) + moved + b"\x09\2hi" if tags else b"\0"
    return b"\0\2" + name + partitions + b"\0" + bytes(4) + tagged


@pytest.mark.parametrize("version", range(10, 14))
@pytest.mark.parametrize("tags", [True, False])
def test_produce_names_new_leaders_at_the_gateway(version: int, tags: bool) -> None:
    body = produce_body(version, "kafka", 1000, tags=tags)
    rewritten = rewrite_addresses(ApiKey.PRODUCE, version, body, to_gateway)
    assert b"".join(rewritten) == produce_body(version, "gateway.example", 9100, tags=tags)


def cluster_body(version: int, host: str, port: int) -> bytes:
    fenced = b"\1" if version >= 2 else b""
    rows = [
        struct.pack(">i", n) + text(host) + struct.pack(">i", port + n) + text(None) + fenced + b"\0" for n in (3, 5)
    ]
    kind = b"\1" if version else b""
    return b"\0" + bytes(6) + text(None) + kind + text("id") + bytes(4) + b"\3" + b"".join(rows) + bytes(5)


@pytest.mark.parametrize("version", range(3))
def test_the_brokers_of_a_cluster_are_at_the_gateway(version: int) -> None:
    rewritten = rewrite_addresses(ApiKey.DESCRIBE_CLUSTER, version, cluster_body(version, "kafka", 1000), to_gateway)
    assert b"".join(rewritten) == cluster_body(version, "gateway.example", 9100)


def share_body(key: int, version: int, host: str, port: int) -> bytes:
    acquired = b"\2" + bytes(18) + b"\0"
    fetched = struct.pack(">h", 0) + text(None), text("records") + acquired
    before, after = fetched if key == ApiKey.SHARE_FETCH else (b"", b"")
    partition = bytes(6) + text("moved") + before + LEADER + after + b"\0"
    has_timeout = key == ApiKey.SHARE_FETCH or version >= 2
    topics = b"\2" + TOPIC.bytes + b"\2" + partition + b"\0"
    return b"\0" + bytes(6) + text(None) + bytes(4 * has_timeout) + topics + endpoints(host, port) + b"\0"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("key", [ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE])
def test_share_groups_find_new_leaders_at_the_gateway(key: ApiKey, version: int) -> None:
    rewritten = rewrite_addresses(key, version, share_body(key, version, "kafka", 1000), to_gateway)
    assert b"".join(rewritten) == share_body(key, version, "gateway.example", 9100)


@pytest.mark.parametrize("size", range(1, 120, 7))
@pytest.mark.parametrize("key", [ApiKey.PRODUCE, ApiKey.DESCRIBE_CLUSTER, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE])
def test_an_answer_that_is_cut_is_malformed(key: ApiKey, size: int) -> None:
    bodies = {ApiKey.PRODUCE: produce_body(13, "kafka", 1), ApiKey.DESCRIBE_CLUSTER: cluster_body(2, "kafka", 1)}
    body = bodies.get(key) or share_body(key, 2, "kafka", 1)
    with pytest.raises(MalformedFrame):
        rewrite_addresses(key, 13 if key == ApiKey.PRODUCE else 2, body[: min(size, len(body) - 9)], to_gateway)
