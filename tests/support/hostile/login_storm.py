"""How long a login by SCRAM over TLS takes among connections that never get that far; for bench/questions/times.py."""

import asyncio
import resource
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from stepdown.bench.servers.ports import free_port

from ..broker import Stepdown
from ..certificates import Authority
from ..client import RawClient
from ..sasl_client import log_in
from .rows import TESTS

CONNECTIONS = 1_000
LOGINS = 10
USER, PASSWORD = "alice", "secret"


def login_ms(kind: str, host: str) -> float:
    """The longest of `LOGINS` from `host`, beside 1,000 connections of a kind of `strangers.py` from 127.0.0.1."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority, port = Authority(folder), free_port()
        settings = {
            "listeners": f"PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:{port}",
            "ssl.keystore.location": str(authority.issue("broker")),
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        }
        with Stepdown(folder, properties=settings) as broker:
            command = [sys.executable, "-m", "stepdown", "users", "set", USER, "-m", "SCRAM-SHA-256"]
            subprocess.run([*command, "-b", broker.address], input=PASSWORD.encode(), check=True, capture_output=True)
            attack = [sys.executable, "-m", "support.hostile.strangers", kind, f"127.0.0.1:{port}", str(CONNECTIONS)]
            with subprocess.Popen(attack, cwd=TESTS, stdout=subprocess.PIPE, preexec_fn=_allow_files) as process:
                try:
                    assert process.stdout is not None
                    assert process.stdout.readline() == b"begun\n"
                    return max(asyncio.run(_login_s(port, host, authority)) for _ in range(LOGINS)) * 1000
                finally:
                    process.kill()


async def _login_s(port: int, host: str, authority: Authority) -> float:
    context = ssl.create_default_context(cafile=str(authority.file))
    began = perf_counter()
    async with await RawClient.connect("127.0.0.1", port, ssl=context, own_host=host) as client:
        assert (await log_in(client, "SCRAM-SHA-256", USER, PASSWORD)).error_code == 0
        return perf_counter() - began


def _allow_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
