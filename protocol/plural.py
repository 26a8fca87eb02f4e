"""Numbers of things in lines for people."""


def plural(count: int, noun: str) -> str:
    """Such as 1 member, 2 members, 3 batches."""
    ending = "" if count == 1 else "es" if noun.endswith(("s", "sh", "ch", "x")) else "s"
    return f"{count} {noun}{ending}"
