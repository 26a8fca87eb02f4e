"""What is lost for clients whose requests have no field for it, and what operators can do about it."""

TIMESTAMPS = "timestamps"
ZSTD = "zstd"
"""Counts partitions of fetches that were refused, since the client cannot read zstd."""

_ADVICE = {
    TIMESTAMPS: "give its topics message.timestamp.type=LogAppendTime",
    ZSTD: "set stepdown.downconversion.zstd=gzip where stepdown runs, or have the producers use another codec",
    "transactions": "it reads their records whether they are committed or not",
}


def describe_loss(what: str, count: int | None = None) -> str:
    """What is lost, `count` times, and what to do where something can be done."""
    times = "" if count is None else f" ({count:,})"
    advice = f": {_ADVICE[what]}" if what in _ADVICE else ""
    return f"{what}{times}{advice}"
