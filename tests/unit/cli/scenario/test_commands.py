"""`stepdown scenario`: the time line is printed, and a failure ends with 1."""

import re
import sys
from pathlib import Path

import pytest
from stepdown.cli.commands import app
from stepdown.cli.support.failures import CommandFailure
from stepdown.testing.scenarios.scenario import names
from support.command import run_command
from typer.testing import CliRunner


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["scenario", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_the_classics_are_listed() -> None:
    assert "lost-acknowledgement" in run("list")


def test_a_run_prints_what_happened_when() -> None:
    lines = run("run", "lost-acknowledgement").splitlines()
    assert lines[0] == "The answer to a write is lost, and the producer writes again"
    assert "    0.000 s  broker 1 Produce v11 of orders from app: no answer [fault 1]" in lines
    assert lines[-1] == "as expected"


@pytest.mark.parametrize("name", names())
def test_each_classic_runs_by_its_name(name: str) -> None:
    assert run("run", name).endswith("\nas expected\n")


def test_a_file_that_fails_says_which_step(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\ntitle: mine\nexplains: x\ntopics: {t: {}}\nsteps: [{expect: {records: {t: [a]}}}]\n")
    with pytest.raises(CommandFailure, match="step 1, expect: t holds"):
        run("run", str(file))


def test_a_name_that_is_not_there_is_said() -> None:
    with pytest.raises(CommandFailure, match="no scenario 'nope'"):
        run("run", "nope")


@pytest.mark.parametrize("arguments", [("list",), ("run", "lost-acknowledgement")])
def test_without_yaml_it_says_what_to_install(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker's own environment has none: this was a traceback."""
    for module in [name for name in sys.modules if name.startswith("stepdown.testing.scenarios")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "yaml", None)
    told = run_command("scenario", *arguments)
    assert told.exit_code == 1
    assert re.search(r"needs yaml, .*\n  pip install '.\[testing\]'", told.stderr)
