"""What all connections of a server have together: memory, lines of the log, and what they ask of requests."""

from collections.abc import Callable
from dataclasses import dataclass

from ..clock import Clock
from ..memory_budget import MemoryBudget
from .address_budget import AddressBudget
from .half_frames import HalfFrames
from .peer_lines import PeerLines


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRules:
    """What is asked of requests while they come."""

    min_bytes_a_second: int
    max_bytes_without_records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedByConnections:
    """What all connections of a broker have together.

    `read_requests` pays for requests that are read and wait (`request_cost.py`); `read_ahead` counts what has been read
    and lies behind requests that are being answered, or wait for memory. Nobody waits for it: while it is full all
    connections read little at a time.
    """

    clock: Clock
    request_memory: MemoryBudget
    read_requests: AddressBudget
    half_frames: HalfFrames
    read_ahead: MemoryBudget
    lines: PeerLines
    rules: Callable[[], RequestRules]

    @classmethod
    def of(
        cls, clock: Clock, request_memory: MemoryBudget, patience_ms: int, rules: Callable[[], RequestRules]
    ) -> "SharedByConnections":
        """Beside the request memory, requests that are read have as much; half frames and what is read ahead, a quarter
        each.
        """
        quarter = request_memory.limit_bytes // 4
        return cls(
            clock=clock,
            request_memory=request_memory,
            read_requests=AddressBudget(request_memory.limit_bytes, clock=clock, patience_ms=patience_ms),
            half_frames=HalfFrames(quarter, clock, patience_ms),
            read_ahead=MemoryBudget(quarter),
            lines=PeerLines(clock),
            rules=rules,
        )
