"""Failures that end a job: one line that says what is wrong and where, and the exit code.

A task's failure reaches the driver as text inside Spark's own error. `said_by` finds our line in it, so that no
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


_OURS = re.compile(r"^\S*\b(PipelineFailure|DataLoss|BadUsage): (.*)$", re.MULTILINE)


def said_by(error: BaseException) -> PipelineFailure | None:
    """Return our failure if `error` is one or, as Spark's errors do, quotes one; else Spark's or the disk's first line.

    None for what can only be a fault in the program.
    """
    if isinstance(error, PipelineFailure):
        return error
    found = _OURS.search(str(error))
    if found is not None:
        return (BadUsage if found[1] == BadUsage.__name__ else PipelineFailure)(found[2])
    of_spark = type(error).__module__.partition(".")[0] in {"pyspark", "py4j"}
    if of_spark or isinstance(error, OSError | ApiError):
        return PipelineFailure(str(error).strip().partition("\n")[0])
    return None
