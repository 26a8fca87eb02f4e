"""How a batch ended."""

from typing import Final, NamedTuple

from .errors import ProducerError

UNKNOWN_OFFSET: Final = -1


class Outcome(NamedTuple):
    """How a batch ended. `append_time`: -1 unless the topic uses LogAppendTime. `failures`: errors by record."""

    base_offset: int = UNKNOWN_OFFSET
    append_time: int = -1
    error: ProducerError | None = None
    failures: dict[int, ProducerError] | None = None
