"""However a command ends, stderr has a sentence and no traceback, and the status tells what happened."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.cli.main import run
from stepdown.cli.support.command_ending import EXTRAS, failure_of
from stepdown.client.errors import Unreachable
from stepdown.config import ConfigError
from stepdown.config.errors import Problem
from stepdown.protocol.errors import DiskFault
from support.command import run_command
from support.command_tree import LEAVES, OF_ARGPARSE
from support.deadline import DEADLINE_S
from support.interrupts import run_interrupted

FAULTS = [
    (KeyboardInterrupt(), 130, ""),
    (BrokenPipeError(), 1, ""),
    (PermissionError(13, "Permission denied", "a/file"), 1, "a/file: Permission denied"),
    (OSError(98, "Address already in use"), 1, "Address already in use\n.*--listen HOST:PORT, for"),
    (ModuleNotFoundError(name="kazoo"), 1, r"needs kazoo, .*\n  pip install '\.\[migrate\]'"),
    (ModuleNotFoundError(name="h11"), 1, r"needs h11, .*\n  pip install '\.'"),
    (Unreachable("no broker answers"), 1, "no broker answers"),
    (DiskFault("the disk is full"), 1, "the disk is full"),
    (ConfigError([Problem(key="a", expected="b expected")]), 2, "bad configuration: a: b expected"),
    (MemoryError(), 1, "not enough memory"),
    (ZeroDivisionError("by zero"), 1, r"unexpected ZeroDivisionError: by zero\n.*report it"),
]


@pytest.mark.parametrize(("is_made", "other"), [(True, "--listen"), (False, "LISTEN=")])
def test_a_taken_port_is_changed_as_it_was_given(is_made: bool, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both --listen and LISTEN= were named, one of which the reader had not used."""
    if is_made:
        monkeypatch.setenv("SERVED_BY_MAKE", "1")
    hint = failure_of(OSError(98, "Address already in use")).hint
    assert other not in hint and ("LISTEN=" in hint) == is_made


@pytest.mark.parametrize("command", LEAVES, ids=" ".join)
def test_no_fault_of_a_command_is_a_traceback(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    kind = "argparse.ArgumentParser.parse_args" if command[0] in OF_ARGPARSE else "typer.core.TyperCommand.parse_args"
    for fault, status, told in FAULTS:

        def fail(*given: object, fault: BaseException = fault) -> None:
            raise fault

        monkeypatch.setattr(kind, fail)
        ended = run_command(*command)
        assert (ended.exit_code, "Traceback" in ended.stderr) == (status, False), fault
        assert re.search(rf"\Astepdown: .*{told}" if told else r"\A\Z", ended.stderr), ended.stderr


@pytest.mark.parametrize("command", LEAVES, ids=" ".join)
@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDONLY], ids=["full", "closed"])
def test_output_that_cannot_be_written_is_a_sentence(
    command: tuple[str, ...], flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's own complaint about stdout came at its end, after a traceback."""
    reason = "No space left on device" if flags == os.O_WRONLY else "Bad file descriptor"
    stdout = open(os.open("/dev/full", flags), "w")  # noqa: SIM115  # its close is part of what is tested
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "stderr", stderr)
    assert run([*command, "--help"]) == 1
    stdout.close()
    assert stderr.getvalue() == f"stepdown: standard output: {reason}\n"


SHOWN_WITHOUT_A_BROKER = (
    "config",
    "faults kinds",
    "faults kinds --json",
    "scenario list",
    "completion bash",
    "--version",
)


@pytest.mark.parametrize(
    "words",
    [
        *(f"stepdown {each} --help" for each in ("", "topics", *OF_ARGPARSE)),
        *(f"stepdown {each}" for each in SHOWN_WITHOUT_A_BROKER),
        "stepdown.pipeline --help",
    ],
)
@pytest.mark.parametrize("buffering", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_full_disk_is_no_success_of_a_process(words: str, buffering: str) -> None:
    """`gateway --help >/dev/full` ended with 0 where Python does not buffer, as in most containers."""
    with open("/dev/full", "wb") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": buffering}
        command = [sys.executable, "-m", *words.split()]
        ended = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=DEADLINE_S, check=False
        )
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "No space left on device" in ended.stderr


@pytest.mark.parametrize("words", [["config", "--jsn"], ["sevre"], ["config", "nope"], ["serve", "-o", "a=b"]])
def test_a_full_stderr_changes_no_status(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w", buffering=1) as full:
        expected = run_command(*words).exit_code
        monkeypatch.setattr(sys, "stderr", full)
        assert run(words) == expected
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_no_file_takes_the_number_of_a_closed_stream(redirection: str) -> None:
    script = (
        "import os, sys; from stepdown.cli.support.standard_streams import open_missing_streams as fill; "
        "fill(); sys.exit(os.open(os.devnull, os.O_RDONLY))"
    )
    command = f"exec {sys.executable} -c '{script}' {redirection}"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, timeout=DEADLINE_S, check=False)
    assert ended.returncode > 2
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("words", "imports"),
    [
        *((["topics", "list", "-b", "127.0.0.1:1"], imports) for imports in (0, 3, 30, 150)),
        *(([command, "--help"], imports) for command in OF_ARGPARSE for imports in (3, 12)),
    ],
)
def test_an_interrupt_at_any_moment_is_no_traceback(words: list[str], imports: int) -> None:
    """Here at the n-th import: it was a traceback until Typer had been imported."""
    ended = run_interrupted("stepdown.cli.main:main", ["stepdown", *words], imports)
    assert (ended.returncode, ended.stderr) == (130, b"")


def test_a_broker_whose_output_is_full_serves_and_logs_its_greeting(tmp_path: Path) -> None:
    """The greeting could not be printed, and a started broker was left without being stopped."""
    command = [sys.executable, "-m", "stepdown", "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    with (
        open("/dev/full", "wb") as full,
        subprocess.Popen(
            [*command, "--log-dir", str(tmp_path)], stdout=full, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        line = next(line for line in process.stderr if "listening on" in line)
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=DEADLINE_S)
    assert "standard output: No space left on device" in line
    assert (process.returncode, "Traceback" in rest) == (0, False)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    """--listen was the option to change where the port of --http was taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for option in (["--listen", address, "--http", "127.0.0.1:0"], ["--listen", "127.0.0.1:0", "--http", address]):
            command = [sys.executable, "-m", "stepdown", "serve", *option, "--log-dir", str(tmp_path)]
            ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
            assert (ended.returncode, ended.stdout) == (1, "")
            assert f"stepdown: cannot listen on {address}: Address already in use" in ended.stderr
            assert f"{option[option.index(address) - 1]} HOST:PORT" in ended.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_a_port_in_use_is_named_with_its_option_by_the_gateway(workers: int) -> None:
    """Who takes ports by default did not see which of its two it was."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for options in (("--listen", address, "--http", "127.0.0.1:0"), ("--http", address, "--listen", "127.0.0.1:0")):
            command = [sys.executable, "-m", "stepdown", "gateway", "--upstream", "127.0.0.1:1", *options]
            environ = {**os.environ, "STEPDOWN_GATEWAY_WORKERS": str(workers)}
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=environ
            )
            assert (ended.returncode, ended.stdout) == (1, "")
            assert f"cannot listen on {address} ({options[0]}): Address already in use" in ended.stderr


def test_where_it_comes_from_is_shown_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("typer.core.TyperCommand.parse_args", fail)
    monkeypatch.setenv("STEPDOWN_TRACEBACK", "1")
    assert "Traceback" in run_command("config").stderr


def test_each_extra_is_one_that_can_be_installed() -> None:
    pyproject = (Path(__file__).parents[4] / "pyproject.toml").read_text()
    for extra in EXTRAS.values():
        assert f"\n{extra} = [" in pyproject


@pytest.mark.parametrize(
    "command",
    [("topics", "create", "{}", "-b", "127.0.0.1:1,{}"), ("{}",), ("topics", "{}"), ("cluster", "--{}"),
     ("log", "dump", "{}"), ("groups", "delete", "g", "--command-config", "{}")],
    ids=" ".join,
)  # fmt: skip
def test_what_is_told_holds_nothing_that_a_terminal_obeys(command: tuple[str, ...]) -> None:
    """A name with an escape sequence went to the terminal as it was, in front of a message that had it escaped."""
    ended = run_command(*(each.format("a\033[31mb\u202e") for each in command))
    assert ended.exit_code in (1, 2)
    assert "x1b[31mb" in ended.stderr
    assert not {"\033", "\u202e"} & {*ended.stderr}


@pytest.mark.parametrize(
    ("words", "told"),
    [("groups lag", "Did you mean 'describe'? There are: list, describe,"), ("groups reset", "'reset-offsets'"),
     ("users create", "Did you mean 'set'?"), ("acls create", "Did you mean 'add'?"), ("users x", "There are: list, ")],
)  # fmt: skip
def test_a_command_by_another_name_is_told_which_there_are(words: str, told: str) -> None:
    """It said that there was no such command, and nothing else."""
    ended = run_command(*words.split())
    assert (ended.exit_code, told in ended.stderr) == (2, True), ended.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("topcs",), "Did you mean 'topics'?"),
        (("consume", "--topic", "orders"), "It takes TOPIC without an option: stepdown consume TOPIC."),
        (("groups", "describe", "--group", "g"), "It takes GROUP without an option: stepdown groups describe GROUP."),
        (("configs", "describe", "orders"), "'orders' has no settings; a topic is topic=orders"),
        (("consume", "--max-messages", "1"), "No such option: --max-messages. Here it is --count."),
        (("produce", "--broker-list", "x"), "No such option: --broker-list. Here it is --bootstrap-server."),
        (("consume", "-t", "x"), "It takes TOPIC without an option: stepdown consume TOPIC."),
        (("consume", "t", "--property", "print.key=true"), "Here it is --format."),
        (("topics", "list", "--exclude-internal"), "internal topics are listed only with --internal"),
        (("topics", "--list"), "It is a command: stepdown topics list."),
        (("topics", "-b", "x:1", "list"), "It goes after the command: stepdown topics COMMAND -b."),
        (("groups", "describe", "--members"), "members and offsets are always shown"),
        (("configs", "describe", "--entity-type", "topics"), "as topic=orders"),
        (("configs", "describe", "topics=t"), "did you mean topic=t?"),
        (("produce", "t", "records.txt"), "Records are read from stdin, or from --file FILE."),
        (("produce", "t", "-f", "FILE"), "No such option: -f. Here it is -F."),
        (("topics", "create", "t", "-r", "3"), "Here it is --replication-factor."),
        (("groups", "reset-offsets", "g", "--to", "earliest"), "No such option: --to. Here it is --to-earliest."),
        (("completion", "tcsh"), "SHELL: expected bash, zsh, fish, found 'tcsh'"),
        (("clients", "--bootstrap-server", "x"), "Here it is --http."),
        (("groups", "reset-offsets", "g"), "none of them given"),
        (("consume", "t", "-p", "abc"), "'--partition' / '-p': expected a whole number"),
        (("consume", "t", "-n", "0"), "'--count' / '-n': expected at least 1"),
        (("produce", "t", "--acks", "2"), "--acks: expected 0, 1 or all, found '2'"),
        (("topics", "create", "t", "-p", "0"), "--partitions: expected -1, or at least 1, found 0"),
        (("topics", "adopt", "t", "-c", "retention.msx=1"), "did you mean retention.ms?"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_wrong_usage_is_told_in_plain_words_before_a_broker_is_asked(arguments: tuple[str, ...], told: str) -> None:
    """There was no suggestion, a library's own words, or no answer but that of a broker."""
    ended = run_command(*arguments)
    assert (ended.exit_code, told in ended.stderr) == (2, True), ended.stderr


@pytest.mark.parametrize("words", [words for words in LEAVES if words[0] not in OF_ARGPARSE], ids=" ".join)
def test_the_help_names_values_in_plain_words(words: tuple[str, ...]) -> None:
    """It said `<list[int]>`, `<int range>` and `[[TOPIC|PATTERN]...]...`."""
    shown = run_command(*words, "--help").stdout
    assert re.search(r"<(str|int|float|list|path)|\[\[|\{[A-Z]|\.\.\.\.", shown) is None
