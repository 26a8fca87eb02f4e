"""A command of ours whose process gets a signal while it imports, and what a command leaves behind."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .deadline import DEADLINE_S


def run_interrupted(
    start: str, arguments: Sequence[str], imports: int, number: signal.Signals = signal.SIGINT
) -> subprocess.CompletedProcess[bytes]:
    """How it ended: `start` is the function that the installed script calls, as `package.module:function`, and the
    signal comes when so many more modules have been asked for."""
    module, function = start.split(":")
    script = (
        "import signal, sys\n"
        "class Interrupt:\n"
        f"    left = {imports}\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        self.left -= 1\n"
        f"        if self.left == -1: signal.raise_signal({number.value})\n"
        f"import {module}\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # which nohup has ignored
        f"sys.meta_path.insert(0, Interrupt()); sys.argv = {list(arguments)!r}\n"
        f"{module}.{function}()"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=DEADLINE_S, check=False)


def names_of_processes(temporary: Path) -> list[str]:
    """Names of the processes that a command has started which has its temporary files there, and its own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            if any(f"{each.decode(errors='replace')}/".startswith(f"TMPDIR={temporary}/") for each in variables):
                found.append((folder / "comm").read_text().strip())
    return found
