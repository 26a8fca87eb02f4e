"""The brokers of a cluster as the controller knows them: fenced, active or stopping.

A broker without heartbeats is fenced after `broker.session.timeout.ms`; one that stops begins a controlled shutdown.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...network.clock import Clock, Timer
from ..metadata.image import BrokerNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker; `node` has its endpoints, and is None before its first start."""

    node_id: int
    rack: str | None = None
    node: BrokerNode | None = None
    is_fenced: bool = True
    is_stopping: bool = False

    @property
    def is_active(self) -> bool:
        """Whether it may lead partitions and be in their ISR."""
        return not self.is_fenced and not self.is_stopping


class Registrations:
    """All brokers by id, and the timers of sessions that are about to end."""

    def __init__(self, clock: Clock, on_expired: Callable[[int], None]) -> None:
        self._clock = clock
        self._on_expired = on_expired
        self._known: dict[int, Registration] = {}
        self._ending: dict[int, Timer] = {}

    def __iter__(self) -> Iterator[Registration]:
        return iter(self._known.values())

    def __contains__(self, node_id: int) -> bool:
        return node_id in self._known

    def announce(self, node_id: int, rack: str | None) -> None:
        """Adds a broker of the cluster that does not run yet."""
        self._known[node_id] = Registration(node_id=node_id, rack=rack)

    def is_active(self, node_id: int) -> bool:
        found = self._known.get(node_id)
        return found is not None and found.is_active

    def living_nodes(self) -> dict[int, BrokerNode]:
        """The living brokers, as clients see them."""
        return {
            each.node_id: each.node
            for each in sorted(self._known.values(), key=lambda each: each.node_id)
            if not each.is_fenced and each.node is not None
        }

    def unfence(self, node: BrokerNode) -> None:
        """Makes a broker active, with the endpoints of `node`."""
        self.cancel_expiry(node.node_id)
        self._known[node.node_id] = Registration(node_id=node.node_id, rack=node.rack, node=node, is_fenced=False)

    def begin_controlled_shutdown(self, node_id: int) -> None:
        self._known[node_id] = replace(self._known[node_id], is_stopping=True)

    def fence(self, node_id: int) -> None:
        self.cancel_expiry(node_id)
        self._known[node_id] = replace(self._known[node_id], is_fenced=True, is_stopping=False)

    def begin_expiry(self, node_id: int, timeout_ms: int) -> None:
        """Starts the timer that fences the broker in `timeout_ms`."""
        self.cancel_expiry(node_id)
        self._ending[node_id] = self._clock.call_later(timeout_ms, lambda: self._expire(node_id))

    def cancel_expiry(self, node_id: int) -> None:
        """Stops the timer of the broker's session."""
        timer = self._ending.pop(node_id, None)
        if timer is not None:
            timer.cancel()

    def close(self) -> None:
        for node_id in tuple(self._ending):
            self.cancel_expiry(node_id)

    def _expire(self, node_id: int) -> None:
        self._ending.pop(node_id, None)
        self._on_expired(node_id)
