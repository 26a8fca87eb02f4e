"""`-o KEY=VALUE` (or `-c`), the option of `stepdown serve` that sets any key."""

from __future__ import annotations

from .origin import Given, Origin

OVERRIDE = Origin("option -c or -o")


def parse_override(text: str) -> Given:
    """Parses one option to key and value. Raises: ValueError, which says what was expected."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError("expected KEY=VALUE; a file of settings comes without an option")
    return Given(key.strip(), value, OVERRIDE)
