"""What all connections of a server have together: memory, lines of the log, and what they ask of requests."""

from collections.abc import Callable
from dataclasses import dataclass

from ..clock import Clock
from ..memory_budget import MemoryBudget
from .address_budget import AddressBudget
from .kept_bytes import KeptBytes
from .peer_log_limit import PeerLogLimit

UNREAD_SHARE = 2
"""How many times the request memory answers may have that wait, or that nobody takes: many clients that ask at once,
and read, wait for milliseconds.
"""
MOST_MS_A_FRAME = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRules:
    """What is asked of requests while they come, and of peers while they read answers."""

    min_bytes_a_second: int
    max_bytes_without_records: int

    def grace_ms_per_byte(self, size_bytes: int) -> float:
        """How much later a frame of that size counts as slow for each byte of it that passes."""
        return min(MOST_MS_A_FRAME / size_bytes, 1000 / max(1, self.min_bytes_a_second))


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedByConnections:
    """What all connections of a broker have together.

    `parsed_requests` pays for requests that are parsed and wait (`request_cost.py`); `read_ahead` counts what has been
    read and lies behind requests that are being answered, or wait for memory. Nobody waits for it: while it is full all
    connections read little at a time. `unread` counts answers that nobody takes (`unread_answer.py`).
    `on_refusal` gets a line for each peer whose login or TLS handshake fails.
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
        """Beside the request memory, requests that are parsed have as much; half frames and what is read ahead, a
        quarter each.
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
    """The budget of answers that wait to be sent, a share of the request memory and beside it."""
    most_bytes = UNREAD_SHARE * request_memory_bytes
    return KeptBytes(most_bytes, most_bytes, clock)
