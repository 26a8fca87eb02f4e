"""Standard input, output and error of the process, also if they were closed or cannot be written.

| descriptor | when it was closed |
|---|---|
| 0 | reading fails: nothing was given |
| 1 | writing fails, as `/dev/full` does: what was asked for cannot be shown |
| 2 | what is written is dropped |

In each case no file or socket that is opened later may get the number.
"""

from __future__ import annotations

import errno
import os
import select
import sys
from contextlib import suppress
from typing import BinaryIO

_FLAGS_WHEN_CLOSED = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)


def open_missing_streams() -> None:
    """Opens /dev/null for each closed descriptor from 0 to 2, with the access of the table above."""
    for descriptor, flags in enumerate(_FLAGS_WHEN_CLOSED):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)  # the lowest number that is free
    sys.stdin = sys.stdin or open(0, closefd=False, encoding="utf-8")  # noqa: SIM115  # as long as the process
    sys.stdout = sys.stdout or open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115


def flush_output() -> OSError | None:
    """Flushes stdout. Returns the error if it cannot be written, else None."""
    try:
        sys.stdout.flush()
    except OSError as fault:
        return fault
    return None


def raise_if_reader_has_gone(output: BinaryIO) -> None:
    """Raises: BrokenPipeError if the output is a pipe that nobody reads any more; else only a write tells."""
    waiting = select.poll()
    with suppress(OSError):  # a stream in memory has no descriptor
        waiting.register(output.fileno(), 0)
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in waiting.poll(0)):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def discard_output() -> None:
    """Drops the buffered and all later output: Python would report a failed flush at its exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except OSError:  # a stream in memory
        return


def print_error(text: str) -> None:
    """Prints to stderr, with control characters escaped. If that fails, only the exit status shows the error."""
    from .escape_sequences import escape_control_characters

    try:
        print(escape_control_characters(text, kept="\n"), file=sys.stderr, flush=True)
    except OSError:
        return
