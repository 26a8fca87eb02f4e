"""What all connections of a server share: memory budgets, the limit of log lines, and the rules for requests."""

from collections.abc import Callable
from dataclasses import dataclass

from ..clock import Clock
from ..memory_budget import MemoryBudget
from .address_budget import AddressBudget
from .kept_bytes import KeptBytes
from .peer_log_limit import PeerLogLimit

UNREAD_SHARE = 2
"""Unread answers may take the request memory times this: when many clients ask at once, and do read, their answers wait
for milliseconds.
"""
MOST_MS_A_FRAME = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRules:
    """How fast requests have to arrive and answers have to be read, and how large requests may be."""

    min_bytes_a_second: int
    max_bytes_without_records: int

    def grace_ms_per_byte(self, size_bytes: int) -> float:
        """By how many ms each transferred byte delays the time at which a frame of that size counts as slow."""
        return min(MOST_MS_A_FRAME / size_bytes, 1000 / max(1, self.min_bytes_a_second))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedByConnections:
    """What all connections of a broker share.

    `request_memory`: large frames. `half_frames`: incomplete frames without a claim.
    `parsed_requests`: requests that are parsed and wait (`request_claims.py`).
    `read_ahead`: bytes that were read after a request that is being answered or waits for memory. Nobody waits for
    this budget: while it is full, all connections read little at a time.
    `unread`: answers that peers do not read (`unread_answer.py`).
    `on_refusal` is called with a line for each peer whose login or TLS handshake fails.
    """

    clock: Clock
    request_memory: MemoryBudget
    parsed_requests: AddressBudget
    half_frames: KeptBytes
    read_ahead: MemoryBudget
    unread: KeptBytes
    lines: PeerLogLimit
    rules: Callable[[], RequestRules]
    on_refusal: Callable[[str], object]

    @classmethod
    def of(
        cls,
        clock: Clock,
        request_memory: MemoryBudget,
        unread: KeptBytes,
        patience_ms: int,
        rules: Callable[[], RequestRules],
        on_refusal: Callable[[str], object] = lambda line: None,
    ) -> "SharedByConnections":
        """Parsed requests get as much memory as `request_memory`, beside it; bytes read ahead get a quarter of that.
        Incomplete frames may be closed above a quarter, and are closed above a half.
        """
        quarter = request_memory.limit_bytes // 4
        return cls(
            clock=clock,
            request_memory=request_memory,
            parsed_requests=AddressBudget(request_memory.limit_bytes, clock=clock, patience_ms=patience_ms),
            half_frames=KeptBytes(quarter, 2 * quarter, clock, patience_ms),
            read_ahead=MemoryBudget(quarter),
            unread=unread,
            lines=PeerLogLimit(clock),
            rules=rules,
            on_refusal=on_refusal,
        )


def make_unread_answers_budget(clock: Clock, request_memory_bytes: int) -> KeptBytes:
    """The limit for unread answers: `UNREAD_SHARE` times the request memory, beside it."""
    most_bytes = UNREAD_SHARE * request_memory_bytes
    return KeptBytes(most_bytes, most_bytes, clock)
