"""What does TLS that is read record by record cost a client, beside asyncio's own?

    python bench/questions/client_tls.py [ROUNDS]

CPU seconds of the client's process, by both ways, over one connection to a broker on this machine:

    producer   records of 16 kB and of 1.8 kB, each a batch of its own, acks=1
    admin      DescribeConfigs of the broker, with answers of some 16 kB, and Metadata without topics, one at a time
    gateway    Produce requests of 16 kB and 1.8 kB of plain clients; CPU of the gateway, which has TLS to the broker

Rounds are interleaved, each in a process of its own. The figures are medians: of a way, and of the ratio in a round.
"""

import asyncio
import runpy
import ssl
import subprocess
import sys
import tempfile
from asyncio import sslproto
from collections import defaultdict
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from stepdown.bench.failures import BenchFailure
from stepdown.bench.load.filled_topics import create_topic, delete_topic
from stepdown.bench.load.process import LoadProcess
from stepdown.bench.load.produce_and_fetch_requests import Filling, ProduceRequests
from stepdown.bench.servers.process import ProcessUsage
from stepdown.bench.servers.stepdown import Stepdown
from stepdown.client.async_client import AsyncClient
from stepdown.client.security.settings import SecuritySettings
from stepdown.client.tcp_connect import TcpConnect
from stepdown.config.keys.endpoints import parse_host_port
from stepdown.producer import Producer
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.metadata import MetadataRequest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.certificates import Authority  # type: ignore[import-not-found]
from support.gateway_process import GatewayProcess  # type: ignore[import-not-found]

ROUNDS = 5
WAYS = ("records", "asyncio")
TOPIC, PASSED = "written", "passed"
SECONDS = 1.0
ROWS = {"producer": ("16 kB", "1.8 kB"), "admin": ("16 kB", "small")}
SIZES = {"16 kB": 16_000, "1.8 kB": 1_800}
SENT_BYTES = {"16 kB": 32_000_000, "1.8 kB": 8_000_000}
WARM_UP = 200
AT_ONCE = 8
ADMIN_REQUESTS = {"16 kB": 600, "small": 1_500}
BROKER = 4


async def connect_by_asyncio(
    self: TcpConnect, protocol: Callable[[], Any], host: str, port: int, *, tls: ssl.SSLContext | None = None
) -> None:
    """In the place of `TcpConnect.__call__`."""
    await asyncio.get_running_loop().create_connection(
        protocol, host, port, ssl=tls, server_hostname=host if tls else None
    )


def keep_limits(self: Any, high: int | None = None, low: int | None = None) -> None:
    """In the place of asyncio's own."""


async def cpu_of_produce(address: str, tls: ssl.SSLContext, row: str) -> float:
    """The CPU seconds of producing the records of a row, such as "16 kB"."""
    value = bytes(SIZES[row])
    async with Producer(
        address, ssl_context=tls, security_protocol="SSL", acks="1", batch_size=0, enable_idempotence=False
    ) as producer:

        async def send_records(count: int) -> None:
            for _ in range(count):
                await producer.send_and_wait(TOPIC, value)

        await send_records(WARM_UP)
        before = process_time()
        count = SENT_BYTES[row] // len(value) // AT_ONCE
        await asyncio.gather(*(send_records(count) for _ in range(AT_ONCE)))
        return process_time() - before


async def cpu_of_admin_requests(address: str, tls: ssl.SSLContext, row: str) -> float:
    """The CPU seconds of the admin requests of a row, after a warm-up."""
    resources = (DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None),)
    request, version = (
        (DescribeConfigsRequest(resources=resources), 1) if row == "16 kB" else (MetadataRequest(topics=()), 1)
    )
    where = parse_host_port(address)
    async with AsyncClient([where], client_id="client-tls", security=SecuritySettings(tls=tls)) as client:
        connection = await client.get_or_open_connection(where)
        for _ in range(WARM_UP):
            await connection.exchange(request, version)
        before = process_time()
        for _ in range(ADMIN_REQUESTS[row]):
            await connection.exchange(request, version)
        return process_time() - before


WORK: dict[str, Callable[[str, ssl.SSLContext, str], Coroutine[Any, Any, float]]] = {
    "producer": cpu_of_produce,
    "admin": cpu_of_admin_requests,
}


def patch_connect(way: str) -> None:
    if way == "asyncio":
        TcpConnect.__call__ = connect_by_asyncio  # type: ignore[method-assign]
        # With a limit of 0, which is the producer's, asyncio's TLS waits for ever after all is sent.
        sslproto._SSLProtocolTransport.set_write_buffer_limits = keep_limits  # type: ignore[method-assign]


def run_client(way: str, work: str, row: str, address: str, authority: str) -> None:
    patch_connect(way)
    tls = ssl.create_default_context(cafile=authority)
    print(asyncio.run(WORK[work](address, tls, row)))


def run_gateway(way: str, *arguments: str) -> None:
    patch_connect(way)
    sys.argv = ["stepdown", "gateway", *arguments]
    runpy.run_module("stepdown", run_name="__main__")


class Gateway(GatewayProcess):  # type: ignore[misc]
    """One whose connections to brokers have TLS in that way."""

    def __init__(self, folder: Path, way: str, upstream: str, authority: str) -> None:
        super().__init__(folder, upstream, upstream_ssl_truststore_location=authority, upstream_security_protocol="SSL")
        self._command[1:4] = [__file__, "gateway", way]


class Rounds:
    """The figures of each row, by way."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def note(self, row: str, way: str, figure: float) -> None:
        self._found[row][way].append(figure)
        print(f"{row}, {way}: {figure:.3f}", file=sys.stderr, flush=True)

    def print(self) -> None:
        print("| client | unit | by records | asyncio | ratio | lowest, highest ratio |\n|---|---|---|---|---|---|")
        for row, of in self._found.items():
            ratios = [ours / theirs for ours, theirs in zip(*(of[way] for way in WAYS), strict=True)]
            ours, theirs = (median(of[way]) for way in WAYS)
            print(
                f"| {row} | {ours:.3f} | {theirs:.3f} | {median(ratios):.2f} | {min(ratios):.2f}, {max(ratios):.2f} |"
            )


def in_child(way: str, work: str, row: str, address: str, authority: str) -> float:
    command = [sys.executable, __file__, "client", way, work, row, address, authority]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main(rounds: int) -> None:
    found = Rounds()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        authority = Authority(folder)
        authority.issue("server")
        trusted = str(authority.file)
        broker = Stepdown(folder, certificates=str(folder))
        opened.callback(broker.kill)
        broker.start()
        assert broker.tls is not None
        load = opened.enter_context(LoadProcess())
        gateways: dict[str, Any] = {}
        for way in WAYS:
            (folder / way).mkdir()
            gateways[way] = opened.enter_context(Gateway(folder / way, way, broker.tls.address, trusted))
        for at in range(rounds + 1):
            for way in WAYS if at % 2 else WAYS[::-1]:
                for work, rows in ROWS.items():
                    for row in rows:
                        figure = in_child(way, work, row, broker.tls.address, trusted)
                        if at:
                            found.note(f"{work}, {row} | CPU s", way, figure)
                for size, size_bytes in SIZES.items():
                    figure = passed_ms_a_mb(load, gateways[way], broker.address, size_bytes)
                    if at:
                        found.note(f"gateway, Produce of {size} | CPU ms a MB", way, figure)
    found.print()


def passed_ms_a_mb(load: LoadProcess, gateway: Any, broker: str, size_bytes: int) -> float:
    """CPU of the gateway."""
    create_topic(broker, PASSED, 1)
    filling = Filling(partitions=1, partition_bytes=size_bytes, record_bytes=600, batch_bytes=size_bytes)
    load.prepare(ProduceRequests().plan(gateway.address, PASSED, filling, SECONDS))
    usage = ProcessUsage(gateway.pid)
    before = usage.cpu_seconds()
    load.start_load()
    result = load.result()
    cpu_s = usage.cpu_seconds() - before
    delete_topic(broker, PASSED)
    if result.errors:
        raise BenchFailure(f"{result.errors} of {result.responses} requests were refused")
    return 1e9 * cpu_s / result.sent_bytes


if __name__ == "__main__":
    if sys.argv[1:2] == ["client"]:
        run_client(*sys.argv[2:])
    elif sys.argv[1:2] == ["gateway"]:
        run_gateway(*sys.argv[2:])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
