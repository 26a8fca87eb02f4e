"""`stepdown serve --temporary`: a broker that a test in any language starts, and that leaves nothing behind.

It uses free ports unless ports are given, has settings for tests, and removes its log directory and certificates.
It ends when the pipe at its stdin is closed, so also when the process that started it ends or is killed.
"""

import asyncio
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...testing.make_brokers import DEFAULTS
from ...testing.security.secured_listener import FILES

STDIN = 0
FREE = "127.0.0.1:0"
SETTINGS = [f"{key}={text}" for key, text in DEFAULTS.items()]
READ_BYTES = 4096


@contextmanager
def temporary_directory() -> Iterator[str]:
    """Yields a log directory, and removes it at the end of the block. Raises: OSError."""
    with tempfile.TemporaryDirectory(prefix="stepdown-", ignore_cleanup_errors=True) as folder:
        yield f"{folder}/data"


def remove_certificates(folder: Path) -> None:
    """Removes the files of `--tls` and `--user` from the folder, and then the folder if it is empty."""
    for pattern in FILES:
        for file in folder.glob(pattern):
            file.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def call_at_end_of_input(act: Callable[[], object]) -> None:
    """Makes the running loop call `act` once when stdin ends, if stdin is a pipe; else the end means nothing."""
    mode = os.fstat(STDIN).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(STDIN, READ_BYTES):
            loop.remove_reader(STDIN)
            act()

    loop.add_reader(STDIN, read)
