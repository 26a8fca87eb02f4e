"""Parses NAME=VALUE on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from .failures import EXIT_BAD_USAGE, CommandFailure


def parse_name_value_pairs(texts: Sequence[str], option: str) -> list[tuple[str, str]]:
    """Splits each text at its first `=`, and strips the name. Raises: CommandFailure."""
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise CommandFailure(f"{option}: expected NAME=VALUE, found {text!r}", "", EXIT_BAD_USAGE)
        found.append((name.strip(), value))
    return found
