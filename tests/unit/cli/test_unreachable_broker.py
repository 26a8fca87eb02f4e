"""Where nobody answers, every command that asks a broker says so at once, with the same sentence."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command import run_command
from support.command_tree import LEAVES, options_of

NEEDED: dict[str, tuple[object, ...]] = {
    "topics create": ("t",),
    "topics describe": ("t",),
    "topics delete": ("t",),
    "topics alter": ("t", "-p", 2),
    "topics adopt": ("--defaults",),
    "groups describe": ("g",),
    "groups delete": ("g",),
    "groups reset-offsets": ("g", "--to-earliest"),
    "transactions describe": ("t",),
    "transactions abort": ("t",),
    "acls add": ("--principal", "User:a", "--operation", "read", "--topic", "t"),
    "acls remove": ("--topic", "t"),
    "users set": ("u",),
    "users remove": ("u",),
    "offsets": ("t",),
    "delete-records": ("t", "--before", "end"),
    "configs describe": ("topic=t",),
    "configs alter": ("topic=t", "-c", "retention.ms=1"),
    "reassign execute": ("plan.json",),
    "reassign verify": ("plan.json",),
    "produce": ("t",),
    "consume": ("t", "-e"),
    "producer-perf": ("-t", "t"),
    "faults arm": ("error",),
    "faults wait": (1,),
    "faults release": (1,),
    "faults remove": (1,),
    "faults do": ("sync",),
    "clock advance": ("1s",),
}
"""What a command line has to hold."""
ASKED = {"--bootstrap-server": "broker", "--control": "control port", "--http": "http port"}
"""What is asked, by the option that names its address."""
ASKING = {words: option for option in ASKED for words in LEAVES if option in options_of(words)}


@pytest.fixture
def address() -> Iterator[str]:
    """Nobody listens there, and nobody else can take it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_who_does_not_answer_is_named_at_once(
    words: tuple[str, ...], address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`producer-perf` waited a minute for each record."""
    monkeypatch.chdir(tmp_path)
    moved = {"topic": "t", "partition": 0, "replicas": [1]}
    Path("plan.json").write_text(json.dumps({"version": 1, "partitions": [moved]}))
    option = ASKING[words]
    ended = run_command(*words, *NEEDED.get(" ".join(words), ()), option, address, stdin=b"line\n")
    said = f"stepdown: no {ASKED[option]} answers at {address}: Connection refused\n  "
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith(said) and ended.stderr.count("\n") == 2


def test_every_command_that_asks_a_broker_takes_its_security() -> None:
    """`producer-perf` took none."""
    asking = [words for words, option in ASKING.items() if option == "--bootstrap-server"]
    assert [words for words in asking if "--command-config" not in options_of(words)] == []
