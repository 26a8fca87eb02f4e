"""The faults that are armed, how often each has fired, and which requests came near one that did not."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from ...protocol.api import API
from ...protocol.errors import ApiError, ErrorCode
from ...protocol.plural import plural
from .armed_fault_state import ArmedFaultState
from .event_log import RequestEvent
from .fault import Fault
from .fault_fields import fault_to_fields

MOST_NEAR = 3
Matches = Callable[[RequestEvent], bool]


@dataclass(slots=True, kw_only=True, eq=False)
class ArmedFault(ArmedFaultState):
    """A fault with its number and what it has done."""

    fault: Fault

    @property
    def is_spent(self) -> bool:
        return self.fault.times is not None and self.hits >= self.fault.times

    def to_json(self) -> dict[str, Any]:
        """As the control port answers it."""
        state = "removed" if self.is_removed else "spent" if self.is_spent else "armed"
        shown = {"id": self.number, "state": state, "hits": self.hits, "fault": fault_to_fields(self.fault)}
        return {**shown, "failure": self.failure} if self.failure else shown


class ArmedFaults:
    """All faults of a broker, or of the brokers of a cluster."""

    def __init__(self, draws: Random) -> None:
        self._draws = draws
        self._all: dict[int, ArmedFault] = {}
        self._last = 0
        self._hit = asyncio.Event()

    def arm(self, fault: Fault) -> ArmedFault:
        """Arms a fault."""
        self._last += 1
        armed = self._all[self._last] = ArmedFault(number=self._last, fault=fault)
        return armed

    def __iter__(self) -> Iterator[ArmedFault]:
        return iter(tuple(self._all.values()))

    def find(self, number: int) -> ArmedFault:
        """Raises: ApiError RESOURCE_NOT_FOUND."""
        if number not in self._all:
            raise ApiError(f"there is no fault {number}", ErrorCode.RESOURCE_NOT_FOUND)
        return self._all[number]

    def active(self) -> Iterator[ArmedFault]:
        """The faults that may still fire."""
        return (armed for armed in self if not armed.is_removed and not armed.is_spent)

    def try_to_fire(self, armed: ArmedFault) -> bool:
        """Counts a request that matches; returns whether the fault fires for it."""
        armed.seen += 1
        if armed.seen <= armed.fault.after or armed.is_spent:
            return False
        if armed.fault.probability < 1 and self._draws.random() >= armed.fault.probability:
            return False
        armed.hits += 1
        self._hit.set()
        self._hit = asyncio.Event()
        return True

    def release(self, number: int) -> ArmedFault:
        """Releases the requests that the fault holds; it goes on holding later ones."""
        armed = self.find(number)
        armed.released.set()
        armed.released = asyncio.Event()
        return armed

    def remove(self, number: int) -> ArmedFault:
        """Disarms a fault and releases the requests that it holds. It stays in the list."""
        armed = self.find(number)
        armed.is_removed = True
        armed.released.set()
        return armed

    def reset(self) -> list[ArmedFault]:
        """Removes and forgets all faults. Returns those that never fired and are not `optional`."""
        unfired = [armed for armed in self if not armed.hits and not armed.fault.optional]
        for armed in self:
            self.remove(armed.number)
        self._all.clear()
        return unfired

    async def await_hits(self, number: int, hits: int, timeout_s: float) -> ArmedFault:
        """Returns the fault once it has fired `hits` times, or after the timeout."""
        armed = self.find(number)
        try:
            async with asyncio.timeout(timeout_s):
                while armed.hits < hits:
                    await self._hit.wait()
        except TimeoutError:
            pass
        return armed


def describe_near_misses(armed: ArmedFault, requests: Iterable[RequestEvent]) -> str:
    """Describes why a fault never fired: which requests met most of its conditions."""
    fault = armed.fault
    if armed.seen:
        why = f"after={fault.after} and probability={fault.probability:g}"
        return f"{plural(armed.seen, 'request')} matched, {why} let them pass"
    near = _find_nearest_requests(list(_request_predicates(fault)), requests)
    if not near:
        return "no request came near it"
    shown = [about if count == 1 else f"{about} ({count} times)" for about, count in near.most_common(MOST_NEAR)]
    return f"what came near: {'; '.join(shown)}{'; …' if len(near) > MOST_NEAR else ''}"


def _find_nearest_requests(conditions: list[Matches], requests: Iterable[RequestEvent]) -> Counter[str]:
    """The requests that meet the most conditions, with how often each came."""
    best, found = 1, Counter[str]()
    for request in requests:
        met = sum(matches(request) for matches in conditions)
        if met > best:
            best, found = met, Counter()
        if met == best:
            found[request.about] += 1
    return found


def _request_predicates(fault: Fault) -> Iterable[Matches]:
    """The fault's conditions on a request, as far as the log has the fields."""
    if fault.api:
        names = {API[key].name for key in fault.api}
        yield lambda request: request.api in names
    if fault.versions is not None:
        low, high = fault.versions
        yield lambda request: low <= request.version <= high
    if fault.broker is not None:
        yield lambda request: request.broker == fault.broker
    if fault.topic is not None:
        yield lambda request: fault.topic in request.topics
    if fault.client_id is not None:
        yield lambda request: request.client_id == fault.client_id
