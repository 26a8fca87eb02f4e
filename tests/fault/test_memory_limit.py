"""A broker in a container with little memory stays alive, and others are served, whatever one client sends.

The limit is a real one where this process may make a control group; elsewhere the test skips and says so.
"""

import asyncio
import os
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from stepdown.client.connection import parse_address
from stepdown.protocol.messages.metadata import MetadataRequest
from support.client import RawClient
from support.hostile.rows import ROWS, Row, felt
from support.memory_group import MIB, StepdownIn, memory_group

HALF_REQUESTS = 40
CLAIMED_BYTES = 100_000_000
CHUNK_BYTES = 64 * 1024
PROBE_S = 2
ANSWERS_WITHOUT_PROGRESS = 300
"""Answers to somebody else during which no byte of a half request was taken: all that there is room for has come."""


class HalfRequest:
    """A Produce request of 100 MB, of which as much is sent as the broker takes."""

    def __init__(self) -> None:
        self.sent_bytes = 0

    async def send(self, host: str, port: int) -> None:
        _, writer = await asyncio.open_connection(host, port)
        writer.transport.set_write_buffer_limits(high=0)
        with suppress(ConnectionError):
            writer.write(struct.pack(">ihhih", CLAIMED_BYTES, 0, 3, 1, -1))
            while self.sent_bytes < CLAIMED_BYTES // 2:
                writer.write(bytes(CHUNK_BYTES))
                await writer.drain()
                self.sent_bytes += CHUNK_BYTES


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
@pytest.mark.parametrize("limit_mib", [64, 96, 128])
async def test_half_requests_in_a_small_container_end_in_no_kill(tmp_path: Path, limit_mib: int) -> None:
    """The budgets knew the machine alone: forty half requests ended in an OOM kill of a container of 64 MiB."""
    with memory_group(limit_mib * MIB) as group, StepdownIn(group, tmp_path) as broker:
        host, port = parse_address(broker.address)
        requests = [HalfRequest() for _ in range(HALF_REQUESTS)]
        tasks = [asyncio.create_task(request.send(host, port)) for request in requests]
        async with await RawClient.connect(host, port) as client:
            before, quiet = -1, 0
            while quiet < ANSWERS_WITHOUT_PROGRESS:
                assert (await client.send(MetadataRequest(topics=()), 1)).brokers
                sent = sum(request.sent_bytes for request in requests)
                before, quiet = sent, quiet + 1 if sent == before else 0
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not broker.has_ended


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes control groups")
@pytest.mark.parametrize("limit_mib", [64, 96, 128])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_row_of_the_limits_ends_a_broker_in_a_small_container(tmp_path: Path, row: Row, limit_mib: int) -> None:
    """9,000 partitions took more than a container of 64 MiB has: their number had no limit."""
    with memory_group(limit_mib * MIB) as group, StepdownIn(group, tmp_path) as broker:
        found = felt(row, broker, PROBE_S)
        assert found.waits_ms
        assert not broker.has_ended
        print(
            f"{row.name} at {limit_mib} MiB: growth {found.growth_bytes / MIB:.0f} MiB, {len(found.waits_ms)} answers"
        )
