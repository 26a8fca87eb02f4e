"""The process of a job: `stepdown-pipeline JOB`, `stepdown pipeline JOB` or `python -m stepdown.pipeline JOB`.

^C ends it at any moment with one sentence and status 130, SIGTERM and SIGHUP with 143 and 129. Spark's processes end
with it, and no temporary file stays.
"""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

HANG_UPS = (signal.SIGTERM, signal.SIGHUP)
ENDING = (signal.SIGINT, *HANG_UPS)
EXIT_BY_SIGNAL = 128
"""And the number of the signal."""


def start() -> None:
    """The `stepdown-pipeline` command."""
    status = _run_to_end(sys.argv[1:], "stepdown-pipeline")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ^C while Python ends itself shows no traceback
    sys.exit(status)


def _run_to_end(words: Sequence[str], program: str) -> int:
    """The exit code, also of --help and bad usage; 1 where standard output cannot be written."""
    try:
        try:
            status = run_process(words, program)
        except SystemExit as ending:
            status = int(ending.code or 0)
        sys.stdout.flush()
    except OSError as fault:
        from .command import send_output_to_null
        from .failures import EXIT_FAILED

        send_output_to_null()
        if not isinstance(fault, BrokenPipeError):
            sys.stderr.write(f"{program}: standard output: {fault.strerror or fault}\n")
        return EXIT_FAILED
    return status


def run_process(words: Sequence[str], program: str) -> int:
    """Run the job that the command line names; return the exit code. `program` is what the help and failures call it.

    Raises: SystemExit for --help and bad usage.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    heard = [number for number in ENDING if before[number] is not signal.SIG_IGN]  # as for a shell's background
    sentence = f"{program}: interrupted\n"
    ended_by = signal.SIGINT

    def leave(number: int, frame: object) -> None:
        # A module that is being imported would print KeyboardInterrupt or lose it, and nothing is there to be ended.
        os.write(2, sentence.encode())
        os._exit(EXIT_BY_SIGNAL + number)

    def stop(number: int, frame: object) -> None:
        nonlocal ended_by
        ended_by = signal.Signals(number)
        _raise_interrupt()

    try:
        _set_signal_handlers(heard, leave)
        from .command import parse_command_line, run
        from .temporary_files import spark_temporary_folder

        prepared = parse_command_line(words, program)
        if isinstance(prepared, int):
            return prepared
        with spark_temporary_folder():
            try:
                _set_signal_handlers(heard, stop)
                return run(*prepared, program)
            except KeyboardInterrupt:
                sys.stderr.write(sentence)
                return EXIT_BY_SIGNAL + ended_by
            finally:
                _set_signal_handlers(ENDING, signal.SIG_IGN)  # Spark ends in a second or two
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _set_signal_handlers(numbers: Sequence[signal.Signals], handler: Any) -> None:
    for number in numbers:
        signal.signal(number, handler)


def _raise_interrupt() -> None:
    """Raises: KeyboardInterrupt. Logging is switched off first, because py4j would log a traceback of it."""
    import logging

    from pyspark import SparkContext

    from .temporary_files import child_processes, end_processes

    logging.disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ^C once more ends it at once
    _set_signal_handlers(HANG_UPS, signal.SIG_IGN)  # `timeout` sends its own twice
    if SparkContext._gateway is None:  # a JVM that is starting would complain about files that Spark removes now
        end_processes(child_processes())
    raise KeyboardInterrupt
