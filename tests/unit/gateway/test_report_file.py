"""The client report is in a file, which is replaced once a minute."""

import json
import stat
from pathlib import Path

import pytest
from stepdown.gateway.report_file import INTERVAL_MS, ReportFile
from stepdown.network.worker_threads import WorkerThreads
from stepdown.protocol.messages.metadata import MetadataRequest
from support.client import RawClient
from support.clock import ManualClock, settle
from support.fetching import fetch
from support.gateway import running_gateway
from support.gateway_workers import running_workers
from support.running import until


class Reports:
    """Counts how often a report was asked for."""

    def __init__(self) -> None:
        self.count = 0

    async def make(self) -> bytes:
        self.count += 1
        return b"report %d" % self.count


async def test_it_is_written_once_a_minute_and_at_the_end(tmp_path: Path) -> None:
    clock, reports, threads = ManualClock(), Reports(), WorkerThreads(1, "test", ManualClock())
    path = tmp_path / "clients.json"
    file = ReportFile(str(path), reports.make, clock, threads)
    file.start()
    await settle()
    await clock.advance(INTERVAL_MS - 1)
    assert not path.exists()
    await clock.advance(1)
    await until(lambda: path.exists() and path.read_bytes() == b"report 1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    await file.stop()
    assert path.read_bytes() == b"report 2"
    assert not path.with_name("clients.json.tmp").exists()
    threads.shutdown()


async def test_a_folder_that_is_not_there_is_named_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, reports, threads = ManualClock(), Reports(), WorkerThreads(1, "test", ManualClock())
    path = tmp_path / "later" / "clients.json"
    file = ReportFile(str(path), reports.make, clock, threads)
    await file.write()
    assert "the client report is not written" in caplog.text
    assert str(path) in caplog.text
    path.parent.mkdir()
    await file.write()
    assert path.read_bytes() == b"report 2"
    threads.shutdown()


async def test_a_gateway_writes_what_its_page_shows(tmp_path: Path) -> None:
    path = tmp_path / "clients.json"
    async with running_gateway(tmp_path / "log", report=path) as stage, await stage.connect() as client:
        await client.send(fetch("none"), 1)
    (row,) = json.loads(path.read_bytes())["clients"]
    assert row["translated"] == {"Fetch 1 as 4": 1}


async def test_workers_write_one_report(tmp_path: Path) -> None:
    path = tmp_path / "clients.json"
    async with running_workers(tmp_path / "log", report=path) as (gateway, _):
        for _ in range(10):
            async with await RawClient.connect(gateway.address.host, gateway.address.port) as client:
                await client.send(MetadataRequest(topics=()), 1)
    (row,) = json.loads(path.read_bytes())["clients"]
    assert row["requests"] == {"Metadata": {"1": 10}}
