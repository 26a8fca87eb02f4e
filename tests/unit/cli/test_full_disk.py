"""What a command prints of a broker's answer goes to a full disk: one sentence and status 1, whatever the command."""

import io
import sys
from pathlib import Path

import pytest
from stepdown.cli.main import run
from stepdown.client import Admin
from support.broker import Stepdown
from support.command import run_command
from support.command_tree import LEAVES, options_of

FULL = "stepdown: standard output: No space left on device\n"
PRINTING: dict[str, tuple[str, ...]] = {
    "topics list": (),
    "topics describe": ("t",),
    "topics create": ("new",),
    "topics alter": ("t", "-p", "2"),
    "topics delete": ("unwanted",),
    "topics adopt": ("--defaults",),
    "groups list": (),
    "groups describe": ("g",),
    "groups reset-offsets": ("g", "--to-earliest"),
    "groups delete": ("unwanted",),
    "cluster": (),
    "log-dirs": (),
    "offsets": ("t",),
    "delete-records": ("t", "--before", "0"),
    "configs describe": ("topic=t",),
    "configs alter": ("topic=t", "-c", "retention.ms=60000"),
    "consume": ("t", "-e"),
    "producer-perf": ("-t", "t", "-n", "1"),
    "clients": (),
}
"""What a command line has to hold."""
SILENT = {"produce", "reassign cancel", "reassign execute", "reassign verify", "reassign list"}
"""They print nothing here, or need more than one broker."""
SECURED = {"acls", "users", "transactions"}
"""They need a broker with rights, or clients."""


def test_every_command_that_asks_a_broker_is_here() -> None:
    asking = {" ".join(words) for words in LEAVES if options_of(words) & {"--bootstrap-server", "--http"}}
    assert {each for each in asking if each.split()[0] not in SECURED} == PRINTING.keys() | SILENT


def test_an_answer_that_cannot_be_printed_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {}
    with Stepdown(tmp_path) as broker, Admin(broker.address) as admin:
        for topic in ("t", "unwanted"):
            broker.create_topic(topic)
        for group in ("g", "unwanted"):
            admin.commit_offsets(group, {("t", 0): 0})
        run_command("produce", "t", "-b", broker.address, stdin=b"a record")
        for name, more in PRINTING.items():
            words = name.split()
            address = ("--http", broker.http) if name == "clients" else ("-b", broker.address)
            with open("/dev/full", "w") as full, monkeypatch.context() as patch:
                stderr = io.StringIO()
                patch.setattr(sys, "stdout", full)
                patch.setattr(sys, "stderr", stderr)
                ended[name] = run([*words, *more, *address]), stderr.getvalue()
    assert {name: each for name, each in ended.items() if each[0] != 1 or not each[1].endswith(FULL)} == {}
