"""Hosts that are advertised and cannot be resolved are named, and nothing waits for that."""

import os
import signal
import socket
import subprocess
import sys
from threading import Event

import pytest
from stepdown.cli.serve import host_warnings
from stepdown.cli.serve.host_warnings import start_checking_hosts
from support.deadline import DEADLINE_S

NO_NAME = f"{64 * 'x'}.test"
"""No name server is asked for it: a label has 63 characters at most."""


async def test_hosts_that_cannot_be_resolved_are_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing was said, and each client failed."""

    def find(host: str, port: int, **_: object) -> list[object]:
        if host == "there.test":
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", find)
    await start_checking_hosts("advertised.listeners", ["there.test", "away.test", "away.test", "10.0.0.1", ""])
    (line,) = caplog.messages
    assert line.startswith("advertised.listeners: this machine cannot resolve away.test: Name or service not known;")


async def test_a_resolver_that_hangs_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    going_on = Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: going_on.wait(DEADLINE_S) and [])
    monkeypatch.setattr(host_warnings, "PATIENCE_S", 0.01)
    await start_checking_hosts("advertised.host", ["slow.test"])
    going_on.set()
    assert "cannot resolve slow.test: no answer within 0.01 s;" in caplog.text


@pytest.mark.parametrize(
    ("setting", "arguments"),
    [
        ("advertised.listeners", ("serve", "--temporary", "-o", f"advertised.listeners=PLAINTEXT://{NO_NAME}:9092")),
        (
            "advertised.host",
            ("gateway", "--upstream", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--advertised-host", NO_NAME),
        ),
    ],
    ids=["serve", "gateway"],
)
def test_what_serves_says_so_and_goes_on(setting: str, arguments: tuple[str, ...]) -> None:
    """Nothing was said."""
    environ = os.environ | {"STEPDOWN_GATEWAY_HTTP": "127.0.0.1:0"}
    with subprocess.Popen(
        [sys.executable, "-m", "stepdown", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert " listening on 127.0.0.1:" in process.stdout.readline()
            said = f"{setting}: this machine cannot resolve {NO_NAME}: "
            assert any(said in line for line in process.stderr)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
