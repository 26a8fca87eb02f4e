"""A start that fails leaves nothing, whatever it fails for."""

import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.cli.serve.greeting import summarize_broker
from stepdown.cli.serve.start_check import check_directories, check_listener_files
from stepdown.config import load
from stepdown.storage.directories.log_directory import LogDirectory
from stepdown.storage.files.files import Files
from support.certificates import Authority
from support.command import run_command

FREE = "127.0.0.1:0"
TLS = ("-o", "listeners=SSL://127.0.0.1:0", "-o", "ssl.keystore.type=PEM", "-o", "ssl.keystore.location=none.pem")
REFUSALS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "setting": (("--listen", FREE, "-o", "num.prtitions=1"), 2, "did you mean num.partitions?"),
    "port": (("--listen", "{taken}"), 1, "cannot listen on {taken}: Address already in use"),
    "http port": (("--listen", FREE, "--http", "{taken}"), 1, "cannot listen on {taken}: Address already in use"),
    "control port": (("--listen", FREE, "--control", "{taken}"), 1, "cannot listen on {taken}: "),
    "port of a cluster": (("--listen", "{taken}", "--brokers", "2"), 1, "cannot listen on {taken}: "),
    "port with TLS": (("--listen", "{taken}", "--tls"), 1, "cannot listen on {taken}: Address already in use"),
    "host": (("--listen", "no-host.invalid:0"), 1, "cannot listen on no-host.invalid:0: "),
    "certificate": (TLS, 1, "listener SSL: none.pem cannot be used: No such file or directory"),
    "locked directory": (("--listen", FREE, "--log-dir", "locked"), 1, "locked is in use by another broker"),
    "what to do of a locked one": (
        ("--listen", FREE, "--log-dir", "locked"),
        1,
        "`fuser -v locked/.lock` names it), or take ",
    ),
    "no log directory": (("--listen", FREE, "--log-dir", "strange"), 1, "is no log directory"),
}
"""Options, the status, what is said."""


def test_a_certificate_that_has_ended_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    own = Authority(tmp_path).issue("own", ends=datetime(2020, 6, 30, tzinfo=UTC))
    settings = ("listeners=SSL://127.0.0.1:0", "ssl.keystore.type=PEM", f"ssl.keystore.location={own}")
    check_listener_files([load(None, {}, settings).settings], 1_700_000_000_000)
    (line,) = caplog.messages
    assert line.startswith(f"listener SSL: {own}: the certificate of CN=own,") and line.endswith("ended on 2020-06-30")


async def test_a_directory_that_was_not_there_is_said_to_be_new(tmp_path: Path) -> None:
    """A log directory whose path was mistyped was made without a word."""
    old, mistyped = tmp_path / "old", tmp_path / "far" / "mistyped"
    old.mkdir()
    loaded = load(None, {}, ("listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={old},{mistyped}"))
    for said in (f"serving {old}, {mistyped} (new): cluster ", f"serving {old}, {mistyped}: cluster "):
        new = check_directories([loaded.settings])
        broker = Broker(loaded.settings, loaded.layers)
        await broker.start()
        assert summarize_broker(broker, loaded.layers, new).startswith(said)
        await broker.stop()


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, with a directory that a broker has, and one that is none of Kafka's."""
    monkeypatch.chdir(tmp_path)
    for name in ("bin", "etc", "home"):
        (tmp_path / "strange" / name).mkdir(parents=True)
    locked = LogDirectory(Files(), str(tmp_path / "locked"))
    yield tmp_path
    locked.release()


def list_all(folder: Path) -> list[str]:
    return sorted(os.path.relpath(path, folder) for path in folder.rglob("*"))


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_start_that_fails_leaves_nothing(refusal: str, taken: str, folder: Path) -> None:
    """A new log directory was left by each of them, and certificates with --tls."""
    options, status, said = REFUSALS[refusal]
    before = list_all(folder)
    ended = run_command("serve", "--log-dir", "new", *(option.format(taken=taken) for option in options))
    assert (ended.exit_code, ended.stdout) == (status, "")
    assert said.format(taken=taken) in ended.stderr
    assert list_all(folder) == before
