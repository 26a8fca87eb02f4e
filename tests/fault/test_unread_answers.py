"""Answers of at most 64 KiB that nobody reads were counted nowhere: 1,200 connections that asked for the metadata of
1,900 partitions ended a broker in a container of 64 MiB.

The limit is a real one where this process may make a control group; elsewhere the test skips and says so.
"""

import os
import resource
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from stepdown.bench.servers.admin_connection import frame_of
from stepdown.client.connection import parse_address
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.describe_groups import DescribeGroupsRequest
from stepdown.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from stepdown.protocol.messages.list_groups import ListGroupsRequest
from support.hostile.attacks import TOPIC, all_topics, small_batches_of_gzip
from support.hostile.client import asked, connected
from support.hostile.rows import create, many_partitions
from support.memory_group import MIB, StepdownIn, memory_group

LIMIT_MIB = 64
CONNECTIONS = 1_200
PIPELINED_BYTES = 32 * 1024
PASSES = 300
"""Answers to somebody else, one after the other: by then each of the connections has had its turns."""
BROKER = 4


def fetch(version: int, max_wait_ms: int = 0) -> bytes:
    """Of all that there is; it waits where it may."""
    offset = 0 if max_wait_ms == 0 else 1_000
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = (FetchTopic(topic=TOPIC, partitions=(partition,)),)
    return frame_of(FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=topics), version)


def describe_configs() -> bytes:
    resources = (DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None),)
    return frame_of(DescribeConfigsRequest(resources=resources), 1)


def api_versions() -> bytes:
    return frame_of(ApiVersionsRequest(), 0)


KINDS: dict[str, Callable[[], bytes]] = {
    "metadata": all_topics,
    "api_versions": api_versions,
    "describe_configs": describe_configs,
    "fetch": lambda: fetch(4),
    "fetch_converted": lambda: fetch(2),
    "list_groups": lambda: frame_of(ListGroupsRequest(), 2),
    "describe_groups": lambda: frame_of(DescribeGroupsRequest(groups=[f"group-{n}" for n in range(100)]), 0),
    "answers_before_a_fetch_that_waits": lambda: api_versions() * 1_000 + fetch(4, max_wait_ms=1 << 30),
}


class UnreadConnections:
    """Each asks, again and again, and reads nothing."""

    def __init__(self, address: str, frame: bytes) -> None:
        self._address = parse_address(address)
        self._data = frame * max(1, PIPELINED_BYTES // len(frame))
        self._socks: list[socket.socket] = []

    def __enter__(self) -> "UnreadConnections":
        for _ in range(CONNECTIONS):
            sock = socket.socket()
            self._socks.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.connect(self._address)
            sock.setblocking(False)
            with suppress(OSError):
                sock.send(self._data)
        return self

    def __exit__(self, *error: object) -> None:
        for sock in self._socks:
            sock.close()

    def wait(self) -> None:
        """Returns when each has an answer that it does not read, or was hung up on."""
        waiting = select.poll()
        for sock in self._socks:
            waiting.register(sock, select.POLLIN)
        left = len(self._socks)
        while left:
            for descriptor, _ in waiting.poll():
                waiting.unregister(descriptor)
                left -= 1


@contextmanager
def many_descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_nobody_reads_end_no_broker_in_a_small_container(tmp_path: Path, kind: str) -> None:
    with ExitStack() as opened:
        opened.enter_context(many_descriptors())
        group = opened.enter_context(memory_group(LIMIT_MIB * MIB))
        broker = opened.enter_context(StepdownIn(group, tmp_path))
        create(broker.address, {TOPIC: 50})
        with connected(broker.address) as sock:
            asked(sock, small_batches_of_gzip())
        if kind == "metadata":
            many_partitions(broker.address)
        before = broker.usage.rss_bytes()
        broker.usage.forget_peak()
        stranger = opened.enter_context(connected(broker.address))
        asked(stranger, api_versions())
        unread = opened.enter_context(UnreadConnections(broker.address, KINDS[kind]()))
        unread.wait()
        for _ in range(PASSES):
            asked(stranger, api_versions())
        with connected(broker.address) as late:
            asked(late, api_versions())
        assert not broker.has_ended
        assert "Traceback" not in broker.log
        growth, closed = broker.usage.peak_rss_bytes() - before, broker.log.count("reads its answer too slowly")
        print(f"{kind}: {before / MIB:.1f} MiB, growth {growth / MIB:.1f}, {closed} lines of closed connections")
