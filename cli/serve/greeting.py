"""What a process that serves prints when it is ready."""

from __future__ import annotations

import logging

from ..support.standard_streams import discard_output

log = logging.getLogger("stepdown")


def announce(greeting: str) -> None:
    """Print the greeting; a process whose stdout cannot be written serves all the same, and has it in its log."""
    try:
        print(greeting, flush=True)
    except OSError as fault:
        discard_output()
        log.warning("%s (standard output: %s)", greeting, fault.strerror or fault)
