"""What is lost for clients whose requests have no field for it, and what operators can do about it."""

TIMESTAMPS = "timestamps"
ZSTD = "zstd"
"""Counts partitions of fetches that were refused, since the client cannot read zstd."""

_NAMES = {ZSTD: "zstd, in fetches of a partition"}
"""What is counted, where the kind alone does not say so."""
_ADVICE = {
    TIMESTAMPS: "give its topics message.timestamp.type=LogAppendTime",
    ZSTD: "set stepdown.downconversion.zstd=gzip where stepdown runs, or have the producers use another codec",
    "transactions": "it reads their records whether they are committed or not",
}


def describe_loss(what: str, count: int | None = None) -> str:
    """What is lost, `count` times, and what to do where something can be done."""
    name = what if count is None else f"{_NAMES.get(what, what)} ({count:,})"
    advice = f": {_ADVICE[what]}" if what in _ADVICE else ""
    return f"{name}{advice}"
