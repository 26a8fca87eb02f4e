"""Numbers of things, and times, in lines for people."""

from typing import Final

MINUTE_MS: Final = 60_000
UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", MINUTE_MS), ("s", 1000), ("ms", 1))


def plural(count: int, noun: str) -> str:
    """Such as 1 member, 2 members, 3 batches."""
    ending = "" if count == 1 else "es" if noun.endswith(("s", "sh", "ch", "x")) else "s"
    return f"{count} {noun}{ending}"


def describe_duration(ms: int) -> str:
    """Milliseconds exactly, such as "8 d", "1 h 5 min" or "46 ms"."""
    parts = []
    for unit, size_ms in UNITS:
        amount, ms = divmod(ms, size_ms)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts) or "0 ms"


def describe_age(ms: int) -> str:
    """As `describe_duration`, from a minute on without milliseconds."""
    return describe_duration(ms if ms < MINUTE_MS else ms - ms % 1000)
