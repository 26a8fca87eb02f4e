"""The `stepdown` command.

`serve` and `gateway` do not use Typer: with pydantic it would take 15 MB and a tenth of a second of a broker that never
uses it again. docs/decisions/start-up.md has the measurements.
"""

import os
import signal
import sys
from collections.abc import Sequence


def main() -> None:
    """Runs the command line of the process, and exits with its status."""
    status = 130
    try:
        from .support.standard_streams import open_missing_streams

        open_missing_streams()
        status = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback for ^C during the interpreter's shutdown
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Runs a command line and returns its exit status. A failure is reported on stderr."""
    from .support.command_ending import EXIT_INTERRUPTED, finish_output, report_failure
    from .support.stop_signals import StopSignals, end_like_ctrl_c, signals_with_default_action

    with StopSignals(end_like_ctrl_c, signals_with_default_action()) as signals:
        try:
            status = finish_output(_run(arguments))
        except BaseException as fault:
            status = report_failure(fault)
    return 128 + signals.by if signals.by is not None and status == EXIT_INTERRUPTED else status


def _run(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if arguments[:1] == ["serve"]:
        from .serve.command_line import main as serve

        return serve(arguments[1:])
    if arguments[:1] == ["gateway"]:
        from .gateway.command_line import main as gateway

        return gateway(arguments[1:])
    from .commands import COMPLETION_VARIABLE, app

    if COMPLETION_VARIABLE in os.environ:
        from .completion import enable_shell_completion

        enable_shell_completion()
    status = app(arguments, prog_name="stepdown", standalone_mode=False)
    return status if isinstance(status, int) else 0
