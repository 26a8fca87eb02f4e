"""Ports for servers that get theirs by a setting, and listen there seconds later."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import cycle

from ..failures import BenchFailure

PORTS = range(20_000, 32_000)
"""Below those that Linux chooses from."""
PORTS_A_PROCESS = 250


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now, and that neither the system nor another process here chooses.

    Raises: BenchFailure where there is none.
    """
    ports = _own_ports()
    for _ in range(PORTS_A_PROCESS):
        port = next(ports)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise BenchFailure(f"all of {PORTS_A_PROCESS} ports of this process are in use")


@cache
def _own_ports() -> Iterator[int]:
    """Reserves a range of ports for this process, and yields them in turn without end. The mark of a range is an
    abstract Unix socket, which the kernel frees when the process ends."""
    for first in PORTS[::PORTS_A_PROCESS]:
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0stepdown-ports-{first}")
        except OSError:
            mark.close()
            continue
        mark.detach()
        return cycle(range(first, first + PORTS_A_PROCESS))
    raise BenchFailure(f"{len(PORTS) // PORTS_A_PROCESS} processes choose ports already")
