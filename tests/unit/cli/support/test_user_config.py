"""Commands find the broker by a file of the user's."""

from pathlib import Path

import pytest
from stepdown.cli.support.user_config import find_command_config_default
from support.command import run_command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("STEPDOWN_CONFIG", "STEPDOWN_BOOTSTRAP", "STEPDOWN_COMMAND_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "stepdown"
    folder.mkdir()
    return folder


def test_nothing_is_said_without_a_file(folder: Path) -> None:
    assert find_command_config_default() == {}


@pytest.mark.parametrize("command", ["topics list", "cluster", "consume t", "configs describe topic=t"])
def test_every_command_takes_the_broker_from_it(folder: Path, command: str) -> None:
    (folder / "client.properties").write_text("bootstrap.servers=127.0.0.1:1\n")
    told = run_command(*command.split())
    assert (told.exit_code, "no broker answers at 127.0.0.1:1" in told.stderr) == (1, True), told.stderr


def test_an_option_and_a_variable_come_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "client.properties").write_text("bootstrap.servers=127.0.0.1:1\n")
    monkeypatch.setenv("STEPDOWN_BOOTSTRAP", "127.0.0.1:2")
    assert "at 127.0.0.1:2" in run_command("topics", "list").stderr
    assert "at 127.0.0.1:3" in run_command("topics", "list", "-b", "127.0.0.1:3").stderr


def test_a_file_that_is_given_names_the_broker(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The login came from the file that was given, and the address from the user's own, or was 127.0.0.1:9092."""
    given, silent = tmp_path / "given.properties", tmp_path / "silent.properties"
    given.write_text("bootstrap.servers=127.0.0.1:2\n")
    silent.write_text("client.id=a\n")
    for home in ("", "bootstrap.servers=127.0.0.1:1\n"):
        (folder / "client.properties").write_text(home)
        assert "at 127.0.0.1:2" in run_command("topics", "list", "--command-config", str(given)).stderr
    monkeypatch.setenv("STEPDOWN_COMMAND_CONFIG", str(given))
    assert "at 127.0.0.1:2" in run_command("cluster").stderr
    assert "at 127.0.0.1:3" in run_command("cluster", "-b", "127.0.0.1:3").stderr
    asked = run_command("cluster", "--command-config", str(silent)).stderr
    assert "at 127.0.0.1:1" not in asked
    assert "at 127.0.0.1:2" not in asked


def test_it_says_how_to_log_in(folder: Path) -> None:
    (folder / "client.properties").write_text("security.protocol=NONE\n")
    told = run_command("topics", "list", "-b", "127.0.0.1:1")
    assert (told.exit_code, "security.protocol" in told.stderr) == (2, True), told.stderr


def test_the_file_that_a_variable_names_has_to_be_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.properties"
    monkeypatch.setenv("STEPDOWN_CONFIG", str(other))
    told = run_command("topics", "list")
    assert (told.exit_code, "other.properties: No such file" in told.stderr) == (2, True), told.stderr
    other.write_text("bootstrap.servers=127.0.0.1:4,127.0.0.1:5\n")
    assert find_command_config_default() == {"command_config": str(other)}
    assert "at 127.0.0.1:4, 127.0.0.1:5" in run_command("topics", "list").stderr


def test_a_file_that_cannot_be_read_is_told(folder: Path) -> None:
    (folder / "client.properties").mkdir()
    told = run_command("topics", "list")
    assert (told.exit_code, "client.properties: Is a directory" in told.stderr) == (2, True), told.stderr
