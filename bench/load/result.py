"""What came of a load: answers, bytes, times."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What came back. `seconds` end with the last byte; all sequences have the order of the answers.

    `latencies_s` go from sending a request to the last byte of its answer, `ended_s` from `began_at` (seconds since the
    epoch) to that byte; `answer_bytes` count the size field.
    """

    responses: int
    received_bytes: int
    sent_bytes: int
    errors: int
    seconds: float
    cpu_seconds: float
    latencies_s: list[float] = field(repr=False)
    ended_s: list[float] = field(repr=False)
    answer_bytes: list[int] = field(repr=False)
    began_at: float
    failure: str = ""


def latencies_of(results: Sequence[LoadResult]) -> list[float]:
    """All latencies of loads that ran side by side."""
    return [seconds for result in results for seconds in result.latencies_s]
