"""A shell completes commands and options."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stepdown.client import Admin
from stepdown.config.sources.command_parser import list_metavar_values
from support.broker import Stepdown
from support.command import run_command
from support.command_tree import LEAVES
from support.deadline import DEADLINE_S
from typer.core import TyperOption


def candidates(words: str) -> list[str]:
    """What bash is told for a line of which the last word is being typed."""
    asked = {"_STEPDOWN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    ended = subprocess.run(
        [sys.executable, "-m", "stepdown"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE_S,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("stepdown to", ["topics"]),
        ("stepdown topics cre", ["create"]),
        ("stepdown configs alter --conf", ["--config"]),
        ("stepdown config num.part", ["num.partitions"]),
        ("stepdown topics describe -b 127.0.0.1:1 ", []),
        ("stepdown topics create x -c retention.m", ["retention.ms="]),
        ("stepdown configs alter topic=orders -c retention.m", ["retention.ms="]),
        ("stepdown configs alter topic = orders -c retention.m", ["retention.ms="]),
        ("stepdown configs alter broker=1 -c num.part", ["num.partitions="]),
        ("stepdown configs describe t", ["topic="]),
        ("stepdown serve --log-", ["--log-dir", "--log-format", "--log-level"]),
        ("stepdown serve --log-level ", ["debug", "info", "warning", "error"]),
        ("stepdown serve --log-dir ", []),
        ("stepdown serve --act-as 4", ["4.0", "4.1", "4.4"]),
        ("stepdown produce t -z ", ["none", "gzip", "snappy", "lz4", "zstd"]),
        ("stepdown consume t -o ", ["earliest", "latest"]),
        ("stepdown acls add --operation cr", ["create", "create-tokens"]),
        ("stepdown faults arm err", ["error"]),
        ("stepdown gateway --up", ["--upstream"]),
        ("stepdown gateway --wor", []),
        ("stepdown pipeline c", ["census", "compact", "convert"]),
    ],
)
def test_commands_and_options_are_completed(words: str, found: list[str]) -> None:
    assert candidates(words) == found


WITH_VALUES = {
    f"stepdown {' '.join(words)} {parameter.opts[0]} ": list_metavar_values(parameter.metavar or "")
    for words, command in LEAVES.items()
    for parameter in command.params
    if isinstance(parameter, TyperOption) and "|" in (parameter.metavar or "")
}


def test_every_list_of_values_in_the_help_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_STEPDOWN_COMPLETE", "complete_bash")
    offered = {}
    for words in WITH_VALUES:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        offered[words] = run_command().stdout.split()
    assert WITH_VALUES["stepdown delete-records --before "] == ["end"]
    assert offered == WITH_VALUES


def test_names_of_topics_and_groups_are_those_of_the_broker(tmp_path: Path) -> None:
    """Nothing was offered after `consume orders --group`, nor for `topic=or`."""
    with Stepdown(tmp_path) as broker:
        for topic in ("orders", "ordinary", "audit"):
            broker.create_topic(topic)
        with Admin(broker.address) as admin:
            admin.commit_offsets("billing", {("orders", 0): 0})
        given = f"-b {broker.address}"
        assert candidates(f"stepdown consume {given} ord") == ["orders", "ordinary"]
        assert candidates(f"stepdown topics delete {given} audit or") == ["orders", "ordinary"]
        assert candidates(f"stepdown groups describe {given} ") == ["billing"]
        assert candidates(f"stepdown consume {given} orders --group ") == ["billing"]
        assert candidates(f"stepdown configs alter {given} topic=ord") == ["topic=orders", "topic=ordinary"]
        assert candidates(f"stepdown configs alter {given} topic = ord") == ["orders", "ordinary"]  # words of bash


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_the_command(shell: str) -> None:
    told = run_command("completion", shell)
    assert (told.exit_code, f"_STEPDOWN_COMPLETE=complete_{shell}" in told.stdout) == (0, True)
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=told.stdout, text=True, check=True, timeout=DEADLINE_S)


def test_another_shell_is_refused() -> None:
    told = run_command("completion", "tcsh")
    assert (told.exit_code, "expected bash, zsh, fish, found 'tcsh'" in told.stderr) == (2, True)
