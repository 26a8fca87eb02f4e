"""Runs the `stepdown` command inside the test's own process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from stepdown.cli.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended, and what it said."""

    exit_code: int
    stdout: str
    stderr: str


def run_command(*arguments: object) -> Finished:
    """The outcome of `stepdown ARGUMENTS…`."""
    stdout, stderr = io.StringIO(), io.StringIO()
    exit_code: object = 0
    with (
        patch.object(sys, "argv", ["stepdown", *map(str, arguments)]),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as ending:
            exit_code = ending.code
    return Finished(exit_code=int(str(exit_code or 0)), stdout=stdout.getvalue(), stderr=stderr.getvalue())
