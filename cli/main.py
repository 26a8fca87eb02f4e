"""The `stepdown` command.

`serve` goes its own way: Typer and what it brings along (pydantic) would take 15 MB and a tenth of a second of a broker
that never uses them again. docs/decisions/start-up.md has the measurements.
"""

import os
import sys

from .support.failures import CommandFailure


def main() -> None:
    """Run the command line; a command that fails says why on stderr."""
    try:
        if sys.argv[1:2] == ["serve"]:
            from .serve.command_line import main as serve

            sys.exit(serve(sys.argv[2:]))
        if sys.argv[1:2] == ["gateway"]:
            from .gateway.command_line import main as gateway

            sys.exit(gateway(sys.argv[2:]))
        from .commands import app

        app(prog_name="stepdown")
    except CommandFailure as failure:
        print(failure, file=sys.stderr)
        sys.exit(failure.exit_code)
    except BrokenPipeError:
        # The reader has gone, as `| head` does. Python would complain again when it flushes stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
