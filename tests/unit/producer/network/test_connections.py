"""Connections without a network: what ends requests that get no answer."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from stepdown.config import HostPort
from stepdown.producer.network.connection import Connection
from stepdown.producer.network.connections import Connections, _Node
from stepdown.producer.sender.network_interface import NetworkAnswer
from stepdown.producer.settings import producer_settings
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.frame import encode_response
from stepdown.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from stepdown.protocol.messages.metadata import MetadataRequest, MetadataResponse
from support.clock import ManualClock

ADDRESS = HostPort("127.0.0.1", 1)


class Transport:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.aborted = False

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        """Nothing is kept back."""

    def writelines(self, pieces: Any) -> None:
        self.written += map(bytes, pieces)

    def abort(self) -> None:
        self.aborted = True


class Stage:
    """A network with one open connection to node 1."""

    def __init__(self, **settings: Any) -> None:
        self.clock = ManualClock()
        self.answers: list[NetworkAnswer] = []
        made = producer_settings({"bootstrap.servers": "127.0.0.1:1", **settings})
        self.network = Connections(made, self.clock, lambda: None)
        self.connection = Connection("c", self.clock.now_ms, lambda: None)
        self.network._nodes[1] = _Node(ADDRESS, self.connection)
        self.transport = Transport()
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]
        versions = [ApiVersion(api_key=int(key), min_version=0, max_version=9) for key in API]
        self.hear(ApiKey.API_VERSIONS, 3, 1, ApiVersionsResponse(api_keys=versions))

    def ask(self) -> None:
        self.network.send(1, ApiKey.METADATA, 9, MetadataRequest(topics=[]), self.answers.append, answered=True)

    def hear(self, key: ApiKey, version: int, correlation_id: int, response: object) -> None:
        frame = b"".join(map(bytes, encode_response(API[key], version, correlation_id, response)))
        self.hear_bytes(frame)

    def hear_bytes(self, data: bytes) -> None:
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))


def test_a_request_without_answer_ends_all_in_flight_on_its_connection() -> None:
    stage = Stage(request_timeout_ms=1000, delivery_timeout_ms=5000)
    stage.ask()
    stage.clock.now += 400
    stage.ask()
    assert stage.network.flush_and_expire(stage.clock.now) == 600
    stage.clock.now += 599
    assert stage.network.flush_and_expire(stage.clock.now) == 1 and not stage.answers
    stage.clock.now += 1
    stage.network.flush_and_expire(stage.clock.now)
    assert [answer.failure for answer in stage.answers] == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert stage.transport.aborted


def test_a_connection_that_breaks_ends_all_in_flight_once() -> None:
    stage = Stage()
    stage.ask()
    stage.ask()
    stage.connection.connection_lost(None)
    stage.connection.connection_lost(None)
    assert [answer.failure for answer in stage.answers] == [ErrorCode.NETWORK_EXCEPTION] * 2


def test_only_an_answer_that_nothing_follows_is_alone() -> None:
    stage = Stage()
    for _ in range(3):
        stage.ask()
    both = [encode_response(API[ApiKey.METADATA], 9, number, MetadataResponse()) for number in (2, 3)]
    stage.hear_bytes(b"".join(bytes(piece) for pieces in both for piece in pieces))
    stage.hear(ApiKey.METADATA, 9, 4, MetadataResponse())
    assert [answer.alone for answer in stage.answers] == [False, True, True]


def test_an_answer_to_another_request_breaks_the_connection() -> None:
    stage = Stage()
    stage.ask()
    stage.hear(ApiKey.METADATA, 9, 77, MetadataResponse())
    assert stage.transport.aborted and stage.answers[0].failure is ErrorCode.NETWORK_EXCEPTION


def test_a_connection_that_idles_is_closed() -> None:
    stage = Stage(connections_max_idle_ms=1000)
    assert stage.network.flush_and_expire(stage.clock.now) == 1000
    stage.clock.now += 1000
    stage.network.flush_and_expire(stage.clock.now)
    assert stage.transport.aborted


@pytest.mark.parametrize("address", [HostPort("127.0.0.1", 70_000), HostPort("a..b", 9092)], ids=["port", "name"])
async def test_an_address_that_cannot_be_is_tried_again_after_a_pause(address: HostPort) -> None:
    stage = Stage()
    assert not stage.network.ready(2, address, stage.clock.now)
    task = stage.network._nodes[2].task
    assert task is not None
    await task
    assert address in stage.network.failures()
    assert not stage.network.ready(2, address, stage.clock.now)
    assert stage.network._nodes[2].task is None
    assert stage.network.flush_and_expire(stage.clock.now) > 0


def test_a_connection_that_is_closed_here_is_no_failure_of_the_broker(caplog: pytest.LogCaptureFixture) -> None:
    """A producer that was closed while it connected said that the broker had hung up."""
    clock = ManualClock()
    network = Connections(producer_settings({"bootstrap.servers": "127.0.0.1:1"}), clock, lambda: None)
    node = _Node(ADDRESS)
    node.connection = Connection("c", clock.now_ms, lambda: network._react_to_change(node))
    node.connection.connection_made(Transport())  # type: ignore[arg-type]
    network._nodes[1] = node
    network.close()
    assert (network.failures(), caplog.messages) == ({}, [])


async def test_a_connection_that_is_made_while_all_are_closed_is_closed() -> None:
    """`stepdown produce`, ended by a signal at that moment, left it open."""
    stage, made = Stage(), Transport()

    async def connect(make_protocol: Callable[[], Any], *_: object, **__: object) -> None:
        make_protocol().connection_made(made)
        asyncio.get_running_loop().call_soon(stage.network.close)

    stage.network._open = connect
    assert not stage.network.ready(2, ADDRESS, stage.clock.now)
    task = stage.network._nodes[2].task
    assert task is not None
    await asyncio.wait([task])
    assert task.cancelled() and made.aborted
