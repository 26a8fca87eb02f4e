"""Runs the event loop of a broker or gateway process."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import uvloop


def run_in_loop(main: Coroutine[Any, Any, int]) -> int:
    """Returns what `main` returns. Raises: OSError if no loop can be made, e.g. without free descriptors."""
    try:
        return uvloop.run(main)
    finally:
        main.close()  # else Python warns, after our message, that it was never awaited
