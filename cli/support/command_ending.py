"""How the process ends when a command fails: one sentence on stderr, what to do next, and the status.

| fault | status |
|---|---|
| CommandFailure, a usage error of the command line | its own |
| ConfigError | 2 |
| ^C | 130 |
| an `OSError`, a library that is not installed, what a broker, a peer or a disk answered | 1 |
| a fault of the program | 1; `STEPDOWN_TRACEBACK=1` shows where |
"""

from __future__ import annotations

import errno
import os
import sys

from .failures import EXIT_BAD_USAGE, EXIT_FAILED, CommandFailure
from .standard_streams import discard_output, flush_output, print_error

EXIT_INTERRUPTED = 130
ADDRESS_HINT = "Take another with --listen HOST:PORT, for the page with --http HOST:PORT, or end what listens there."
MAKE_ADDRESS_HINT = "Take another with `make serve LISTEN=HOST:PORT`, or end what listens there."
MAKE_VARIABLE = "SERVED_BY_MAKE"
"""Set by `make serve`, whose user cannot pass options."""
OUTPUT_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
TRACEBACK_VARIABLE = "STEPDOWN_TRACEBACK"

PLAIN = {
    "Input should be a valid integer, unable to parse string as an integer": "expected a whole number",
    "Input should be a valid number, unable to parse string as a number": "expected a number",
    "Input should be greater than or equal to": "expected at least",
    "Input should be less than or equal to": "expected at most",
}
"""Plain words for the messages of Typer's library on values."""
EXTRAS = {
    "cryptography": "security",
    "jks": "security",
    "jwt": "security",
    "yaml": "testing",
    "pytest": "testing",
    "matplotlib": "bench",
    "pyspark": "spark",
    "pandas": "spark",
    "pyarrow": "spark",
    "numpy": "spark",
    "obstore": "spark",
    "deltalake": "delta",
    "fastavro": "values",
    "google": "values",
    "jsonschema_rs": "values",
    "kazoo": "migrate",
}
"""The extra that installs each module that only some commands need."""


def report_failure(fault: BaseException) -> int:
    """Reports the fault on stderr, and returns the exit status."""
    if isinstance(fault, SystemExit):
        return _obey_exit(fault)
    if isinstance(fault, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(fault, BrokenPipeError):  # the reader has gone, as `| head` does
        discard_output()
        return EXIT_FAILED
    unwritten = flush_output()
    if isinstance(fault, OSError) and (unwritten is not None or _is_output_failure(fault)):
        return _report_lost_output(unwritten or fault)
    if unwritten is not None:
        discard_output()
    if hasattr(fault, "show"):  # a usage error of Typer
        return _show_usage(fault)
    failure = failure_of(fault)
    print_error(str(failure))
    if os.environ.get(TRACEBACK_VARIABLE):
        import traceback

        print_error("".join(traceback.format_exception(fault)))
    return failure.exit_code


def finish_output(status: int) -> int:
    """Flushes stdout; returns `status`, or that of a failure if the output could not be written."""
    unwritten = flush_output()
    return status if unwritten is None else _report_lost_output(unwritten)


def failure_of(fault: BaseException) -> CommandFailure:
    """Returns the message and the hint for a fault."""
    if isinstance(fault, CommandFailure):
        return fault
    if isinstance(fault, ModuleNotFoundError):
        return _missing_library_failure(fault)
    if isinstance(fault, OSError):
        hint = MAKE_ADDRESS_HINT if MAKE_VARIABLE in os.environ else ADDRESS_HINT
        return CommandFailure(_describe_os_error(fault), hint if fault.errno == errno.EADDRINUSE else "")
    if isinstance(fault, MemoryError):
        return CommandFailure("there is not enough memory")
    return _failure_by_kind(fault)


def _failure_by_kind(fault: BaseException) -> CommandFailure:
    from ...config.errors import ConfigError

    if isinstance(fault, ConfigError):
        return CommandFailure(fault.report().removeprefix("stepdown: "), "", EXIT_BAD_USAGE)
    if _has_message_for_people(fault):
        return CommandFailure(str(fault))
    hint = f"It is stepdown's own: please report it. {TRACEBACK_VARIABLE}=1 shows where it comes from."
    return CommandFailure(f"unexpected {type(fault).__name__}: {_first_line(fault)}", hint)


def _has_message_for_people(fault: BaseException) -> bool:
    from ...client.errors import ClientError
    from ...producer.errors import ProducerError
    from ...protocol.errors import ApiError

    return isinstance(fault, ApiError | ClientError | ProducerError)


def _obey_exit(fault: SystemExit) -> int:
    if fault.code is None or isinstance(fault.code, int):
        return finish_output(fault.code or 0)
    print_error(str(fault.code))
    return finish_output(EXIT_FAILED)


def _report_lost_output(fault: OSError) -> int:
    discard_output()
    if not isinstance(fault, BrokenPipeError):
        print_error(f"stepdown: standard output: {_describe_os_error(fault)}")
    return EXIT_FAILED


def _is_output_failure(fault: OSError) -> bool:
    """Whether writing to stdout failed. Errors of files have a file name; an unbuffered stdout flushes no error."""
    return fault.filename is None and fault.errno in OUTPUT_ERRNOS


def _show_usage(fault: BaseException) -> int:
    from ..usage_hints import explain_usage_error
    from .escape_sequences import escape_control_characters

    try:
        message = _replace_library_words(fault.message) + explain_usage_error(fault)  # type: ignore[attr-defined]
        fault.message = escape_control_characters(message, kept="\n")  # type: ignore[attr-defined]
        fault.show()  # type: ignore[attr-defined]  # asked above
        sys.stderr.flush()
    except OSError:
        pass
    return int(getattr(fault, "exit_code", EXIT_BAD_USAGE))


def _replace_library_words(message: str) -> str:
    for words, plain in PLAIN.items():
        message = message.replace(words, plain)
    return message


def _missing_library_failure(fault: ModuleNotFoundError) -> CommandFailure:
    module = (fault.name or str(fault)).partition(".")[0]
    extra = EXTRAS.get(module)
    what = "." if extra is None else f".[{extra}]"
    return CommandFailure(
        f"this needs {module}, which is not installed",
        f"pip install '{what}' in the clone of stepdown; after `make serve` .venv/bin/pip install --editable '{what}'.",
    )


def _describe_os_error(fault: OSError) -> str:
    reason = fault.strerror or _first_line(fault) or type(fault).__name__
    return f"{fault.filename}: {reason}" if isinstance(fault.filename, str) else reason


def _first_line(fault: BaseException) -> str:
    return str(fault).strip().partition("\n")[0]
