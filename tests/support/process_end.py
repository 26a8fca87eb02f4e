"""Waits for the end of a process that another one has started."""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager

from .deadline import DEADLINE_S


@contextmanager
def ending(pid: int) -> Iterator[None]:
    """What the block does ends that process; on leaving it has ended. Raises: AssertionError."""
    process = os.pidfd_open(pid)
    try:
        yield
        ended, _, _ = select.select([process], [], [], DEADLINE_S)
        assert ended, "it still runs"
    finally:
        os.close(process)
