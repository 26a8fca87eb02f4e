"""The event loop of a process that serves."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import uvloop


def run_in_loop(main: Coroutine[Any, Any, int]) -> int:
    """What `main` returns. Raises: OSError when no loop can be made, as without descriptors, and what `main` raises."""
    try:
        return uvloop.run(main)
    finally:
        main.close()  # without a loop it was not begun, of which Python would warn after our sentence
