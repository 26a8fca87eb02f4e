"""Those who never log in cost little: 1,000 connections 32 MiB in all, one of them 1 MiB, whatever they send."""

import asyncio
import resource
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from stepdown.bench.servers.ports import free_port
from stepdown.broker.broker import Broker
from support.broker import Stepdown
from support.certificates import Authority
from support.hostile.rows import TESTS, run_probe
from support.hostile.strangers import PLAIN, TLS
from support.running import until
from support.secure import secure_broker, secure_settings

CONNECTIONS = 1_000
MOST_BYTES = 32 << 20
MOST_BYTES_OF_ONE = 1 << 20
PROBE_S = 3
CHUNK_BYTES = 16 * 1024
QUICK = ("endless_frame", "wrong_token", "long_nonce", "endless_hello", "tls_endless_token")
KINDS = [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in (*PLAIN, *TLS)]


@contextmanager
def started(folder: Path) -> Iterator[tuple[Stepdown, dict[str, str]]]:
    """A broker, and the addresses of its listeners with SASL. `alice` has a SCRAM password."""
    ports = {name: free_port() for name in ("SASL_PLAINTEXT", "SASL_SSL")}
    settings = secure_settings(Authority(folder)) | {
        "listeners": ",".join(("PLAINTEXT://127.0.0.1:0", *(f"{name}://127.0.0.1:{ports[name]}" for name in ports))),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "ssl.client.auth": "requested",
        "connection.failed.authentication.delay.ms": "100",
    }
    del settings["listener.name.mtls.ssl.client.auth"]
    with Stepdown(folder, properties=settings) as broker:
        subprocess.run(
            [sys.executable, "-m", "stepdown", "users", "set", "alice", "-m", "SCRAM-SHA-256", "-b", broker.address],
            input=b"secret\n",
            check=True,
            capture_output=True,
        )
        yield broker, {name: f"127.0.0.1:{port}" for name, port in ports.items()}


@contextmanager
def strangers(kind: str, address: str, count: int, own: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "support.hostile.strangers", kind, address, str(count), str(own)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, preexec_fn=allow_files) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            yield
        finally:
            process.kill()


def allow_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def long_chain(folder: Path) -> Path:
    """A key and 80 certificates: some 70 kB, of 100 kB that OpenSSL takes."""
    pem = Authority(folder, "others").issue("stranger").read_text()
    first = pem.index("-----BEGIN CERTIFICATE")
    file = folder / "chain.pem"
    file.write_text(pem[:first] + pem[first:] * 80)
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_strangers_cost_32_mib_and_others_are_answered(kind: str, tmp_path: Path) -> None:
    """Some cost 0.5 to 0.9 GB: what they had sent was kept after their end, or long names and nonces before it."""
    with started(tmp_path) as (broker, addresses):
        address = addresses["SASL_SSL" if kind in TLS else "SASL_PLAINTEXT"]
        own = long_chain(tmp_path)
        run_probe(broker.address, 1)
        with strangers("tls_silent" if kind in TLS else "silent", address, 1, own):
            before = broker.usage.rss_bytes()
        broker.usage.forget_peak()
        with strangers(kind, address, CONNECTIONS, own):
            assert run_probe(broker.address, PROBE_S)
            assert broker.usage.peak_rss_bytes() - before <= MOST_BYTES
        assert "Traceback" not in broker.log


@pytest.mark.parametrize("kind", [each for each in PLAIN if each != "silent"])
async def test_one_stranger_costs_a_mib(kind: str, tmp_path: Path) -> None:
    data = PLAIN[kind]()
    async with secure_broker(tmp_path / "data", secure_settings(Authority(tmp_path))) as broker:
        port = broker.addresses["SASL_PLAINTEXT"].port
        await send(broker, port, data)  # handlers are read when they are first needed
        tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            await send(broker, port, data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak - before <= MOST_BYTES_OF_ONE


async def send(broker: Broker, port: int, data: bytes) -> None:
    """Sends all of it that is taken, and returns when the broker has hung up, or has read all that it will."""
    loop = asyncio.get_running_loop()
    with socket.socket() as sock, suppress(OSError):
        sock.setblocking(False)
        await loop.sock_connect(sock, ("127.0.0.1", port))
        for at in range(0, len(data), CHUNK_BYTES):
            await loop.sock_sendall(sock, memoryview(data)[at : at + CHUNK_BYTES])
        sock.shutdown(socket.SHUT_WR)
        while await loop.sock_recv(sock, CHUNK_BYTES):
            pass
    await until(lambda: broker._server.connection_count == 0)
