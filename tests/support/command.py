"""Runs the `stepdown` command inside the test's own process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from tempfile import TemporaryFile
from unittest.mock import patch

from stepdown.cli.main import run


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended, and what it said."""

    exit_code: int
    stdout: str
    stderr: str
    stdout_bytes: bytes


def run_command(*arguments: object, stdin: bytes = b"") -> Finished:
    """The outcome of `stepdown ARGUMENTS…`, given those bytes to read."""
    stdout, stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    with (
        TemporaryFile() as given,
        patch.object(sys, "stdin", given),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        given.write(stdin)
        given.seek(0)
        exit_code = run([*map(str, arguments)])
    stdout.flush()
    written = stdout.buffer.getvalue()  # type: ignore[attr-defined]  # a BytesIO
    return Finished(
        exit_code=exit_code,
        stdout=written.decode(errors="replace"),
        stderr=stderr.getvalue(),
        stdout_bytes=written,
    )
