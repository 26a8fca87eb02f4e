"""Several workers are one gateway: the same ports, one report, one page of metrics; one that dies is replaced."""

import asyncio
import logging
import os
import re
import signal
import socket
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from stepdown.cli.gateway.command_line import make_greeting
from stepdown.config import HostPort
from stepdown.gateway.workers import worker_pages
from stepdown.gateway.workers.supervisor import StartFailed
from stepdown.gateway.workers.worker_process import WorkerProcess
from stepdown.network.listener import bind
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.records.builder import build_batch
from stepdown.protocol.records.layout import Codec
from support.client import RawClient
from support.clock import ManualClock
from support.deadline import DEADLINE_S
from support.fetching import create, fetch, produce, records
from support.gateway_workers import COMMAND, children_of, has_ended, running_workers, supervisor_of
from support.http_page import get, get_json
from support.page_openapi import check_answer
from support.running import running_broker, until

CLIENTS = 40
"""All of them at one of two workers: once in 2 ** 39."""


async def ask_for_brokers(address: HostPort) -> HostPort:
    async with await RawClient.connect(address.host, address.port) as client:
        (broker,) = (await client.send(MetadataRequest(topics=()), 1)).brokers
        return HostPort(broker.host, broker.port)


def samples_of(text: str, name: str) -> dict[str, float]:
    """By worker the sum of the samples of that name."""
    found: Counter[str] = Counter()
    for labels, value in re.findall(rf"^{name}{{(.*)}} (\S+)$", text, re.MULTILINE):
        found[re.search('worker="([0-9]+)"', labels)[1]] += float(value)  # type: ignore[index]
    return dict(found)


async def test_workers_share_the_ports_and_are_counted_as_one(tmp_path: Path) -> None:
    async with running_workers(tmp_path) as (gateway, broker):
        async with await RawClient.connect(broker.host, broker.port) as own:
            await create(own, "orders")
            await produce(own, "orders", build_batch(records(3)))
        ports = {await ask_for_brokers(gateway.address) for _ in range(CLIENTS)}
        assert len(ports) == 1  # whichever worker was asked
        at = ports.pop()
        for _ in range(CLIENTS):
            async with await RawClient.connect(at.host, at.port) as client:
                answer = await client.send(fetch("orders"), 2)
                assert not answer.responses[0].partitions[0].error_code
        metrics = (await get(gateway.http_address, "/metrics")).body.decode()
        requests = samples_of(metrics, "stepdown_gateway_requests_total")
        assert set(requests) == {"0", "1"}
        assert min(requests.values()) > 0
        assert metrics.count("# TYPE stepdown_gateway_requests_total counter") == 1
        assert "stepdown_gateway_workers 2.0" in metrics
        (client_row,) = (await get(gateway.http_address, "/clients")).json()["clients"]
        assert client_row["requests"] == {"Metadata": {"1": CLIENTS}, "Fetch": {"2": CLIENTS}}
        assert client_row["translated"] == {"Fetch 2 as 4": CLIENTS}


async def test_the_page_shows_them_as_one(tmp_path: Path) -> None:
    async with running_workers(tmp_path) as (gateway, _):
        for _ in range(CLIENTS):
            await ask_for_brokers(gateway.address)
        found = await get_json(gateway.http_address, "overview")
        check_answer("/api/overview", found)
        assert [(row["api"], row["count"]) for row in found["requests"]] == [("passed", CLIENTS)]
        assert (found["counts"]["clients"], found["kafka_4_refuses"]) == (1, 0)
        assert found["memory"] == [{"name": "answers", "used_bytes": 0, "limit_bytes": 32 << 20}]
        rows = await get_json(gateway.http_address, "clients")
        check_answer("/api/clients", rows)
        assert rows["total"] == 1
        assert (await get(gateway.http_address, "/readyz")).body == b"ready\n"


async def test_a_client_that_stands_still_is_seen_whichever_worker_it_is_at(tmp_path: Path) -> None:
    async with running_workers(tmp_path) as (gateway, broker):
        async with await RawClient.connect(broker.host, broker.port) as own:
            await create(own, "orders")
            await produce(own, "orders", build_batch(records(3), codec=Codec.ZSTD))
        at = await ask_for_brokers(gateway.address)
        for number in range(CLIENTS // 4):
            async with await RawClient.connect(at.host, at.port, client_id=f"till-{number}") as client:
                for _ in range(2):
                    await client.send(fetch("orders"), 2)
        (problem,) = (await get_json(gateway.http_address, "overview"))["problems"]
        assert problem["count"] == CLIENTS // 4


async def test_a_worker_that_is_killed_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with running_workers(tmp_path) as (gateway, _):
        before = await ask_for_brokers(gateway.address)
        pids = gateway.pids
        os.kill(pids[0], signal.SIGKILL)
        await until(lambda: f"worker 0 (process {pids[0]}) has ended with status -9" in caplog.text)
        assert await ask_for_brokers(gateway.address) == before  # the other one serves
        await until(lambda: gateway.pids[:1] != pids[:1] and len(gateway.pids) == 2)
        await until(lambda: "worker 0 is there again" in caplog.text)
        assert {await ask_for_brokers(gateway.address) for _ in range(CLIENTS)} == {before}
        metrics = (await get(gateway.http_address, "/metrics")).body.decode()
        assert set(samples_of(metrics, "stepdown_gateway_requests_total")) == {"0", "1"}
        assert "stepdown_gateway_worker_ends_total 1.0" in metrics


async def test_a_worker_that_is_silent_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/readyz took 20 s and said "ready", though the worker got every other connection; so did the page."""
    monkeypatch.setattr(worker_pages, "READY_S", 0.5)
    async with running_workers(tmp_path) as (gateway, _):
        silent = gateway.pids[1]
        os.kill(silent, signal.SIGSTOP)
        try:
            page = await get(gateway.http_address, "/readyz")
            assert (page.status, f"worker 1 (process {silent})" in page.body.decode()) == (503, True)
            overview = await get_json(gateway.http_address, "overview")
            check_answer("/api/overview", overview)
            assert overview["is_ready"] is False
            assert f"worker 1 (process {silent})" in overview["problems"][0]["names"]
            assert 'worker="0"' in (await get(gateway.http_address, "/metrics")).body.decode()
        finally:
            os.kill(silent, signal.SIGCONT)
        monkeypatch.undo()
        assert (await get(gateway.http_address, "/readyz")).body == b"ready\n"


async def test_a_silent_cluster_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first line came after 6 s, since the second worker waited as long as the first one had."""
    told = []

    async def ask(worker: WorkerProcess, question: str, **content: object) -> dict[str, object]:
        if question == "start":
            told.append((worker.number, content["known_fault"]))
        return {"fault": "it is silent", "address": "127.0.0.1:1", "cluster_id": None, "release": "", "port_fault": ""}

    monkeypatch.setattr(WorkerProcess, "ask", ask)
    gateway = supervisor_of("127.0.0.1:1")
    try:
        assert await gateway.start() == "it is silent"
    finally:
        await gateway.stop(drain_ms=0)
    assert told == [(0, ""), (1, "it is silent")]


async def test_a_worker_that_dies_again_and_again_waits_longer_each_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    clock = ManualClock()
    async with running_workers(tmp_path, clock) as (gateway, _):
        for number, delay_ms in enumerate((500, 1000, 2000), 1):
            os.kill(gateway.pids[0], signal.SIGKILL)
            await until(lambda wait=f"the next worker 0 starts in {delay_ms} ms": wait in caplog.text)  # type: ignore[misc]
            await clock.advance(delay_ms - 1)
            assert len(gateway.pids) == 1
            await clock.advance(1)
            await until(lambda times=number: caplog.text.count("worker 0 is there again") == times)  # type: ignore[misc]


async def test_a_port_that_is_taken_is_not_shared_with_who_has_it(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        gateway = supervisor_of("127.0.0.1:1", listen=f"127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(StartFailed) as caught:
            await gateway.start()
    assert (caught.value.status, gateway.pids) == (1, [])


async def test_two_gateways_do_not_share_a_port(tmp_path: Path) -> None:
    async with running_workers(tmp_path) as (first, _):
        second = supervisor_of("127.0.0.1:1", listen=str(first.address))
        with pytest.raises(StartFailed):
            await second.start()


async def test_settings_that_are_read_again_reach_all_workers(tmp_path: Path) -> None:
    async with running_workers(tmp_path) as (gateway, _):
        upstream = ",".join(map(str, gateway.settings.bootstrap))
        changed = supervisor_of(upstream, allow="10.0.0.0/8")
        await gateway.reload(changed.settings, changed.given)
        await changed.stop()
        for _ in range(CLIENTS):
            with socket.create_connection((gateway.address.host, gateway.address.port)) as client:
                client.settimeout(DEADLINE_S)
                assert await asyncio.to_thread(client.recv, 1) == b""


class Started:
    """`stepdown gateway` with two workers as a process; the cluster is not there."""

    def __init__(self, folder: Path, **settings: object) -> None:
        file = folder / "gateway.yaml"
        lines = {"workers": 2, "upstream.bootstrap.servers": "127.0.0.1:1", **settings}
        file.write_text("".join(f"{name}: {value}\n" for name, value in lines.items()))
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*COMMAND, str(file), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"],
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
            )
        assert self.process.stdout is not None
        self.greeting = self.process.stdout.readline().decode()
        self.workers = children_of(self.process.pid)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)


async def test_it_greets_once_and_ends_with_all_workers(tmp_path: Path) -> None:
    started = Started(tmp_path)
    assert started.greeting.startswith("stepdown gateway listening on 127.0.0.1:")
    assert len(started.workers) == 2
    for worker in started.workers:
        os.kill(worker, signal.SIGTERM)  # as a service manager sends it to all processes
    assert started.end(signal.SIGTERM) == 0
    assert all(map(has_ended, started.workers))
    assert started.process.stdout is not None
    assert started.process.stdout.read() == b""
    assert "Traceback" not in started.log.read_text()


async def test_workers_are_of_the_same_installation(tmp_path: Path) -> None:
    """They took a folder stepdown where they were started, such as a clone that nobody compiled, and did not start."""
    (tmp_path / "stepdown").mkdir()
    (tmp_path / "stepdown" / "__init__.py").write_text("raise ImportError('another stepdown')")
    started = Started(tmp_path)
    assert len(started.workers) == 2, started.log.read_text()
    assert started.end(signal.SIGTERM) == 0


async def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    started = Started(tmp_path)
    started.end(signal.SIGKILL)
    await until(lambda: all(map(has_ended, started.workers)))
    assert "Traceback" not in started.log.read_text()


def test_a_start_that_fails_says_why_once_and_ends_so(tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        file = tmp_path / "gateway.yaml"
        file.write_text(f"workers: 2\nlisten: 127.0.0.1:{taken.getsockname()[1]}\n")
        ended = subprocess.run([*COMMAND, str(file), "--upstream", "127.0.0.1:1"], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert ended.stderr.decode().count("Address already in use") == 1


async def test_the_first_line_of_workers_says_that_a_broker_has_no_port(tmp_path: Path) -> None:
    """It read like that of a gateway through which each broker is reached."""
    async with running_broker(tmp_path) as broker:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            gateway = supervisor_of(str(broker.address), first_port=port - broker.cluster.node_id)
            try:
                assert await gateway.start() == ""
                assert f"not ready: cannot listen on port {port} for broker" in make_greeting(gateway, "")
            finally:
                await gateway.stop(drain_ms=0)
