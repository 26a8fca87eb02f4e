"""Failures that end a job: one line that says what is wrong and where, and the exit code.

A task's failure reaches the driver as text inside Spark's own error. `failure_of` finds our line in it, so that no
traceback of Python or Java reaches the terminal.
"""

import re

from ..protocol.errors import ApiError

EXIT_FAILED = 1
EXIT_BAD_USAGE = 2


class PipelineFailure(Exception):
    """A job cannot continue; the one line of the message names the file, position and reason."""

    exit_code = EXIT_FAILED


class BadUsage(PipelineFailure):
    """An option, folder, topic or column that was asked for is wrong or missing."""

    exit_code = EXIT_BAD_USAGE


class DataLoss(PipelineFailure):
    """Records that were asked for are gone: retention deleted the segment, or the log was truncated."""


_PYTHON_FAULT = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)$", re.MULTILINE)
_JAVA_CAUSE = re.compile(r"^Caused by: (.*)$", re.MULTILINE)
_OURS = re.compile(r"^\S*\b(PipelineFailure|DataLoss|BadUsage|DiskFault): (.*)$", re.MULTILINE)


def failure_of(error: BaseException) -> PipelineFailure | None:
    """Return our failure if `error` is one or, as Spark's errors do, quotes one; else Spark's or the disk's first line.

    None for what can only be a fault in the program.
    """
    if isinstance(error, PipelineFailure):
        return error
    found = _OURS.search(str(error))
    if found is not None:
        return (BadUsage if found[1] == BadUsage.__name__ else PipelineFailure)(found[2])
    if type(error).__module__.partition(".")[0] in {"pyspark", "py4j"}:
        return PipelineFailure(_first_line_of_spark_error(str(error).strip()))
    if isinstance(error, OSError | ApiError):
        return PipelineFailure(str(error).strip().partition("\n")[0])
    return None


def _first_line_of_spark_error(text: str) -> str:
    """Spark's first line that says something and, where a task failed, what Python or Java said there."""
    first, *others = text.splitlines() or ["Spark failed"]
    if first.startswith("An error occurred while calling") and others:
        first = others[0].removeprefix(": ")
    behind = _PYTHON_FAULT.findall(text) or _JAVA_CAUSE.findall(text)
    return f"{first} ({behind[-1]})" if behind and behind[-1] not in first else first
