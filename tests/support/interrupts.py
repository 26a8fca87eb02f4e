"""A command of ours whose process gets SIGINT while it imports."""

import subprocess
import sys
from collections.abc import Sequence

from .deadline import DEADLINE_S


def run_interrupted(start: str, arguments: Sequence[str], imports: int) -> subprocess.CompletedProcess[bytes]:
    """How it ended: `start` is the function that the installed script calls, as `package.module:function`, and SIGINT
    comes when so many more modules have been asked for."""
    module, function = start.split(":")
    script = (
        "import signal, sys\n"
        "class Interrupt:\n"
        f"    left = {imports}\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        self.left -= 1\n"
        "        if self.left == -1: signal.raise_signal(signal.SIGINT)\n"
        f"import {module}\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.meta_path.insert(0, Interrupt()); sys.argv = {list(arguments)!r}\n"
        f"{module}.{function}()"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=DEADLINE_S, check=False)
