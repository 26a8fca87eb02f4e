"""`stepdown serve --temporary`: a broker that a test starts from any language, and that leaves nothing.

It has free ports where none is given, a log directory that it removes, as certificates, and settings that suit tests.
It ends when the pipe at its standard input is closed, as also happens when the process that started it
ends or is killed.
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
    """A log directory until the end of the block. Raises: OSError."""
    with tempfile.TemporaryDirectory(prefix="stepdown-", ignore_cleanup_errors=True) as folder:
        yield f"{folder}/data"


def remove_certificates(folder: Path) -> None:
    """What `--tls` and `--user` write, or a test in their place, and the folder if there is nothing else in it."""
    for pattern in FILES:
        for file in folder.glob(pattern):
            file.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def call_at_end_of_input(act: Callable[[], object]) -> None:
    """Have the running loop call it once, if standard input is a pipe: elsewhere its end says nothing."""
    mode = os.fstat(STDIN).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not os.read(STDIN, READ_BYTES):
            loop.remove_reader(STDIN)
            act()

    loop.add_reader(STDIN, read)
