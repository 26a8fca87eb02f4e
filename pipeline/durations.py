"""Times as options have them: a number and its unit."""

import re

_TIME = re.compile(r"(\d+)\s*(ms|s|m|min|h|d)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def parse_seconds(text: str) -> float | None:
    """The seconds of a time like `30s` or `15m`, None for what is none."""
    found = _TIME.fullmatch(text.strip().lower())
    return None if found is None else int(found[1]) * _SECONDS[found[2]]
