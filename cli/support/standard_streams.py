"""Standard input, output and error of the process, also where they were closed or cannot be written.

| descriptor | when it was closed |
|---|---|
| 0 | reading fails: nothing was given |
| 1 | writing fails, as `/dev/full` does: what was asked for cannot be shown |
| 2 | what is written is dropped |

In none of these may a file or a socket that is opened later take the number.
"""

from __future__ import annotations

import os
import sys

_FLAGS_WHEN_CLOSED = (os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)


def open_missing_streams() -> None:
    """Give /dev/null to those of the descriptors 0 to 2 that are closed, with the access of the table above."""
    for descriptor, flags in enumerate(_FLAGS_WHEN_CLOSED):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)  # the lowest number that is free
    sys.stdin = sys.stdin or open(0, closefd=False, encoding="utf-8")  # noqa: SIM115  # as long as the process
    sys.stdout = sys.stdout or open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115


def flush_output() -> OSError | None:
    """The fault for which stdout cannot be written; None when all of it has been."""
    try:
        sys.stdout.flush()
    except OSError as fault:
        return fault
    return None


def discard_output() -> None:
    """Drop what stdout still holds and will be given: Python would complain of it at its end."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except OSError:  # a stream in memory
        return


def print_error(text: str) -> None:
    """Print to stderr, control characters escaped; where that fails the exit status has to do."""
    from .escape_sequences import escape_control_characters

    try:
        print(escape_control_characters(text, kept="\n"), file=sys.stderr, flush=True)
    except OSError:
        return
