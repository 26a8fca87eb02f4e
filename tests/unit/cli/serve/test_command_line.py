import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.cli.serve.broker_process import BrokerOptions, _make_broker, load_settings
from stepdown.cli.serve.command_line import settings_of_flags
from stepdown.cli.serve.greeting import summarize_without_effect
from stepdown.config import load
from support.command import run_command
from support.deadline import DEADLINE_S


def test_options_are_settings() -> None:
    settings = load(flags=settings_of_flags("127.0.0.1:0", ["/a", "/b"], "127.0.0.1:9100")).settings
    assert [str(endpoint) for endpoint in settings.listeners] == ["PLAINTEXT://127.0.0.1:0"]
    assert settings.log_dirs == ("/a", "/b")
    assert str(settings.stepdown_http_listen) == "127.0.0.1:9100"


def test_listen_replaces_what_the_file_advertises(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("listeners=PLAINTEXT://:1\nadvertised.listeners=PLAINTEXT://far.example:1")
    settings = load(path, flags=settings_of_flags("127.0.0.1:2", [], "")).settings
    assert [str(endpoint) for endpoint in settings.advertised_listeners] == ["PLAINTEXT://127.0.0.1:2"]


def test_a_release_to_act_as_is_an_option() -> None:
    settings = load(flags=settings_of_flags("", [], "", act_as="4.4")).settings
    assert settings.stepdown_act_as == "4.4"


def test_without_options_nothing_is_set() -> None:
    assert settings_of_flags("", [], "") == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--listen", "localhost"], "argument --listen: expected HOST:PORT with a port up to 65535, found 'localhost'"),
        (["--http", "9100"], "option --http: stepdown.http.listen"),
        (["-o", "num.prtitions=1"], "did you mean num.partitions?"),
        (["-o", "num.partitions"], "expected KEY=VALUE"),
        (["-c", "num.prtitions=1"], "did you mean num.partitions?"),
        (["-o", "retentio.ms=1"], "did you mean log.retention.ms?"),
        (["--num.partitions=3"], "num.partitions has no option of its own: -c num.partitions=VALUE"),
        (["--log-dirs", "data"], "did you mean --log-dir?"),
        (["--port", "9092"], "its address is --listen HOST:PORT"),
        (["--workers=2"], "a broker is one process; --brokers N makes a cluster of N"),
        (["--config", "server.properties"], "a file of settings comes without an option"),
        (["nothing.properties"], "cannot read the configuration file"),
        (["--log-dir", "data,more"], "repeat --log-dir for each directory"),
        (["--act-as", "4"], "option --act-as: stepdown.act.as: expected"),
        (["--log-format", "xml"], "expected console or json, found 'xml'"),
    ],
    ids=[
        "listen",
        "http",
        "typo",
        "no value",
        "typo of -c",
        "typo of a setting of topics",
        "setting as option",
        "directories",
        "port as option",
        "option of a gateway",
        "file",
        "no file",
        "log dir",
        "release",
        "log format",
    ],
)
def test_a_bad_configuration_ends_with_2_and_says_why(arguments: list[str], told: str) -> None:
    ended = run_command("serve", *arguments)
    assert ended.exit_code == 2
    assert told in ended.stderr
    assert ended.stdout == ""


def test_a_wrong_option_is_said_without_all_options() -> None:
    """Nine lines of usage came before the sentence that helps."""
    ended = run_command("serve", "--port", "1")
    told = ["stepdown serve: error: its address is --listen HOST:PORT", "Try 'stepdown serve --help' for help."]
    assert ended.stderr.splitlines() == told


@pytest.mark.parametrize("brokers", ["1", "2"])
def test_topics_that_cannot_be_made_refuse_the_start(tmp_path: Path, brokers: str) -> None:
    """The broker served without them; a line of the log said so."""
    options = ("--listen", "127.0.0.1:0", "--log-dir", tmp_path / "data", "-o", "stepdown.topics=a:1,b:0")
    ended = run_command("serve", *options, "--brokers", brokers)
    assert ended.exit_code == 2
    assert "stepdown.topics: topic b cannot be made: at least 1 partition expected" in ended.stderr


@pytest.mark.parametrize("brokers", ["1", "2"])
def test_a_log_directory_that_cannot_be_created_is_named_with_what_to_do(brokers: str) -> None:
    """It was "/proc/x: No such file or directory", which may be any file."""
    ended = run_command("serve", "--listen", "127.0.0.1:0", "--log-dir", "/proc/x", "--brokers", brokers)
    assert ended.exit_code == 1
    assert ended.stderr.splitlines()[-2:] == [
        "stepdown: cannot create the log directory /proc/x: No such file or directory",
        "  Name one that this user can create with --log-dir DIR.",
    ]


def test_a_broker_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "stepdown",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--log-dir",
        str(tmp_path / "data"),
    ]
    environ = {**os.environ, "STEPDOWN_HTTP_LISTEN": "127.0.0.1:0"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        greeting = process.stdout.readline()
        listed = run_command("topics", "list", "--json", "-b", greeting.split()[3].rstrip(","))
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=DEADLINE_S)
    assert greeting.startswith("stepdown listening on 127.0.0.1:")
    assert ", http 127.0.0.1:" in greeting
    assert (listed.exit_code, listed.stdout) == (0, "[]\n")
    assert (process.returncode, "Traceback" in log) == (0, False)
    assert f"serving {tmp_path / 'data'} (new): cluster " in log
    assert f", node 1, 0 topics; listeners PLAINTEXT://{greeting.split()[3].rstrip(',')}; http 127.0.0.1:" in log


def test_settings_without_effect_are_one_line(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=8\nnum.network.threads=3\nzookeeper.connect=a:1\nprocess.roles=broker\n")
    told = summarize_without_effect(load(file).without_effect, file)
    assert told == (
        "4 settings have no effect here: num.io.threads, num.network.threads, zookeeper.connect, …; "
        f"`stepdown config --explain {file}` tells why"
    )


def test_names_that_are_no_settings_are_told_without_a_command_that_knows_none_of_them() -> None:
    """`stepdown config KEY` was said to tell why, and said that there is no such setting."""
    loaded = load(None, {"KAFKA_NO_SUCH": "x"})
    assert summarize_without_effect(loaded.without_effect, None) == (
        "1 setting has no effect here: no.such; stepdown has none of these names"
    )


def test_the_command_that_tells_why_is_of_settings_that_there_are() -> None:
    """`stepdown config KEY` was said to tell why of a name that it does not know."""
    loaded = load(None, {"KAFKA_NO_SUCH": "x", "KAFKA_NUM_IO_THREADS": "8"})
    told = summarize_without_effect(loaded.without_effect, None)
    assert told.endswith("; `stepdown config num.io.threads` tells why")


def test_topics_of_other_images_have_the_name_that_counts_here() -> None:
    """KAFKA_CREATE_TOPICS had no effect, and nothing named STEPDOWN_TOPICS."""
    (warning,) = load(None, {"KAFKA_CREATE_TOPICS": "a:1:1"}).warnings
    assert "use stepdown.topics (STEPDOWN_TOPICS=orders:3)" in warning


def test_variables_of_commands_are_no_settings() -> None:
    names = ("STEPDOWN_BOOTSTRAP", "STEPDOWN_COMMAND_CONFIG", "STEPDOWN_TRACEBACK")
    assert load(None, dict.fromkeys(names, "x")).remarks == ()


@pytest.mark.parametrize("brokers", ["1", "3"])
def test_what_is_temporary_ends_with_its_input_and_leaves_nothing(tmp_path: Path, brokers: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "stepdown", "serve", "--temporary", "--brokers", brokers, "-o", "num.partitions=2"],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert re.match(
            r"stepdown listening on 127\.0\.0\.1:\d+.*, control 127\.0\.0\.1:\d+$", process.stdout.readline()
        )
        assert len(list(tmp_path.iterdir())) == 1
        process.communicate("what is said is not read\n", timeout=DEADLINE_S)
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_temporary_does_not_end_with_an_input_that_is_no_pipe(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "stepdown", "serve", "--temporary", "--log-dir", str(tmp_path / "kept")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        host, _, port = process.stdout.readline().split()[3].rstrip(",").rpartition(":")
        socket.create_connection((host, int(port)), DEADLINE_S).close()
        process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_S)
    assert process.returncode == 0
    assert (tmp_path / "kept" / "meta.properties").is_file()


async def test_what_is_temporary_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics that tests made, and each reset, waited for the disk."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    free = "127.0.0.1:0"
    options = BrokerOptions(flags=settings_of_flags(free, [str(tmp_path / "data")], free, free), is_temporary=True)
    broker = _make_broker(load_settings(options, {}), options)
    await broker.start()
    for path, fields in (("topics/create", {"topic": "t"}), ("reset", {})):
        status, answer = await broker.control.handle("POST", path, fields)  # type: ignore[union-attr]
        assert status == 200, answer
    await broker.stop()
    assert synced == []


def test_what_is_temporary_takes_its_certificates_with_it(tmp_path: Path) -> None:
    (tmp_path / "certificates").mkdir()
    (tmp_path / "certificates" / "other.txt").touch()
    for folder in ("certificates", "new"):
        with subprocess.Popen(
            [
                sys.executable,
                "-m",
                "stepdown",
                "serve",
                "--temporary",
                "--tls",
                "--security-dir",
                str(tmp_path / folder),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            assert (tmp_path / folder / "client.properties").is_file()
            process.communicate(timeout=DEADLINE_S)
    assert [path.name for path in tmp_path.rglob("*")] == ["certificates", "other.txt"]
