"""Writes files with keys and passwords that only their owner can read."""

import os
from pathlib import Path

PRIVATE = 0o600


def write_privately(path: Path, text: str) -> None:
    """Writes a file that is private from its first byte, also if it existed before and others could read it.

    Raises: OSError.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, PRIVATE)
        file.truncate()
        file.write(text)
