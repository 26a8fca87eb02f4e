import subprocess
import sys
from typing import Any

import pytest
from stepdown import __version__
from stepdown.cli.commands import COMMANDS, app
from support.command import run_command
from support.deadline import DEADLINE_S
from typer.main import get_command


def app_commands() -> dict[str, Any]:
    """Every command by its name, imported."""
    root: Any = get_command(app)
    context = root.make_context("stepdown", ["--version"], resilient_parsing=True)
    return {name: root.get_command(context, name) for name in COMMANDS}


def test_help_names_every_command() -> None:
    told = run_command("--help")
    assert told.exit_code == 0
    for name in COMMANDS:
        assert f"\n  {name}" in told.stdout


def test_help_may_be_asked_for_as_a_command() -> None:
    """There was no such command."""
    assert run_command("help").stdout == run_command("--help").stdout
    assert run_command("help", "topics", "list").stdout == run_command("topics", "list", "--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    assert f"usage: stepdown {name}" in run_command(name, "--help").stdout.lower()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_in_a_list_of_commands_is_cut(name: str) -> None:
    """`topics --help` said "Say what the settings of topics are that were taken over..."."""
    _, _, listed = run_command(name, "--help").stdout.partition("\nCommands:\n")
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


SHOWING = {"list", "describe", "kinds", "requests", "verify", "cluster", "log-dirs", "offsets", "clients", "config"}
"""Names of commands that show what there is."""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_shows_something_has_json(name: str) -> None:
    """`faults list` and `scenario list` had none."""
    command = app_commands()[name]
    for each, found in {name: command, **getattr(command, "commands", {})}.items():
        if each in SHOWING:
            assert "--json" in {option for parameter in found.params for option in parameter.opts}, each


def test_an_unknown_command_or_option_ends_with_2() -> None:
    assert run_command("sevre").exit_code == 2
    assert run_command("config", "--jsn").exit_code == 2


def test_the_version_is_told() -> None:
    assert run_command("--version").stdout == f"stepdown {__version__}\n"


def test_a_command_imports_nothing_of_the_others() -> None:
    script = (
        "import sys; sys.argv = ['stepdown', 'config', 'num.partitions']; import stepdown.cli.main as cli\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print(*(name for name in sys.modules if name.startswith(('stepdown.broker', 'stepdown.storage', 'rich'))))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    assert ended.stdout.splitlines()[-1] == ""


def imported_by(*arguments: str) -> set[str]:
    """Modules that a command line imports, in a process of its own."""
    script = (
        f"import sys; sys.argv = ['stepdown', *{arguments!r}]; import stepdown.cli.main as cli\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print('', *sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    return set(ended.stdout.splitlines()[-1].split())


def test_the_help_imports_no_command() -> None:
    """It imported all of them, for their lines in the list."""
    ours = {name for name in imported_by("--help") if name.startswith("stepdown.")}
    assert ours <= {
        "stepdown.cli",
        "stepdown.cli.main",
        "stepdown.cli.commands",
        "stepdown.cli.support",
        "stepdown.cli.support.command_ending",
        "stepdown.cli.support.failures",
        "stepdown.cli.support.standard_streams",
        "stepdown.cli.support.stop_signals",
    }


def test_a_command_that_asks_a_broker_imports_no_table_of_settings() -> None:
    imported = imported_by("topics", "list", "-b", "127.0.0.1:1")
    assert "stepdown.client.blocking_client" in imported
    assert not {name for name in imported if name.startswith(("stepdown.config.tables", "stepdown.broker", "asyncio"))}


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{sys.executable} -m stepdown config | head -n 1"
    ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, timeout=DEADLINE_S)
    assert ended.stdout.startswith("Settings of the broker")
    assert ended.stderr == ""


def test_a_broker_pays_for_no_command_line_library() -> None:
    script = (
        "import sys; import stepdown.cli.main, stepdown.cli.serve.command_line, stepdown.cli.serve.broker_process\n"
        "print(*(name for name in sys.modules if name in ('typer', 'pydantic', 'rich', 'structlog')))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    assert ended.stdout == "\n"
