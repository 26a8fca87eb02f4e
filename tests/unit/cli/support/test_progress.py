"""Long work shows how far it is on a terminal, and says nothing in a pipe."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from stepdown.cli.main import run
from support.broker import Stepdown
from support.command import run_command

READ_BYTES = 1 << 16


@contextmanager
def on_a_terminal(stream: str, patch: pytest.MonkeyPatch) -> Iterator[bytearray]:
    """Have sys.stderr, or another stream, be a terminal; what was written there is given once the block has ended."""
    shown = bytearray()
    ours, theirs = os.openpty()

    def read() -> None:
        with suppress(OSError):  # that is how the end of a terminal is told
            while data := os.read(ours, READ_BYTES):
                shown.extend(data)

    reading = threading.Thread(target=read)
    reading.start()
    with open(theirs, "w") as terminal, patch.context() as patched:
        patched.setattr(sys, stream, terminal)
        yield shown
    reading.join()
    os.close(ours)


def test_a_file_that_is_written_is_followed_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing said that a file of a thousand lines had been one record."""
    (tmp_path / "lines").write_bytes(b"line\n" * 1000)
    with Stepdown(tmp_path) as broker:
        broker.create_topic("t")
        produce = ("produce", "t", "--file", str(tmp_path / "lines"), "-b", broker.address)
        assert run_command(*produce).stderr == ""
        with on_a_terminal("stderr", monkeypatch) as shown:
            assert run(produce) == 0
    assert bytes(tmp_path / "lines") in shown
    assert b"1 record written: each file is one, whatever lines it has" in shown


def test_files_that_are_dumped_are_followed_where_what_they_hold_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 5\n")
    dump = ("log", "dump", str(tmp_path / "recovery-point-offset-checkpoint"))
    assert run_command(*dump).stderr == ""
    with (tmp_path / "shown").open("w") as pipe, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", pipe)
        with on_a_terminal("stderr", monkeypatch) as beside_a_pipe:
            assert run(dump) == 0
    assert b"dumping" in beside_a_pipe
    with on_a_terminal("stdout", monkeypatch) as printed, on_a_terminal("stderr", monkeypatch) as beside_them:
        assert run(dump) == 0
    assert (printed.startswith(b"Dumping "), beside_them) == (True, b"")
