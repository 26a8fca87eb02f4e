"""Places the replicas of new partitions: round the racks, and in each rack round its brokers.

The leader is always a living broker; fenced brokers become followers after the living ones of their rack. The start of
the round is random, from a seeded source. Source: Kafka 3.9 `StripedReplicaPlacer`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from ...protocol.errors import ApiError, ErrorCode

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsableBroker:
    """A broker that may get replicas."""

    node_id: int
    rack: str | None
    is_fenced: bool


def place_replicas(partitions: int, factor: int, brokers: Iterable[UsableBroker], lots: Random) -> list[Ids]:
    """The replicas of new partitions, the leader first. Raises ApiError INVALID_REPLICATION_FACTOR."""
    racks = _RackPlacement(list(brokers), lots)
    if factor > racks.brokers:
        raise _make_refusal(f"{factor} replicas need as many brokers, there are {racks.brokers}")
    if not racks.living:
        raise _make_refusal("all brokers are fenced")
    return [racks.next(factor) for _ in range(partitions)]


def _make_refusal(text: str) -> ApiError:
    return ApiError(text, ErrorCode.INVALID_REPLICATION_FACTOR)


class _Ring:
    """Brokers that take turns; each partition starts one broker further."""

    def __init__(self, ids: Sequence[int], lots: Random) -> None:
        self.ids = sorted(ids)
        self._offset = lots.randrange(len(self.ids)) if self.ids else 0
        self._taken = 0
        self._round = 0

    def next(self, round_: int) -> int | None:
        """The next one of this round; None when all have had their turn."""
        if not self.ids:
            return None
        if self._round != round_:
            self._round, self._taken = round_, 0
            self._offset = (self._offset + 1) % len(self.ids)
        if self._taken >= len(self.ids):
            return None
        found = self.ids[(self._taken + self._offset) % len(self.ids)]
        self._taken += 1
        return found


class _RackPlacement:
    """The racks of a cluster, each a ring of living and one of fenced brokers."""

    def __init__(self, brokers: Sequence[UsableBroker], lots: Random) -> None:
        self._lots = lots
        self.brokers = len(brokers)
        self.living = sum(not broker.is_fenced for broker in brokers)
        names = sorted({broker.rack for broker in brokers}, key=lambda rack: (rack is not None, rack or ""))
        self._rings = [
            tuple(
                _Ring([each.node_id for each in brokers if each.rack == name and each.is_fenced is fenced], lots)
                for fenced in (False, True)
            )
            for name in names
        ]
        self._offset = lots.randrange(len(names)) if names else 0
        self._round = 0

    def next(self, factor: int) -> Ids:
        """The replicas of the next partition."""
        if self._round == self.living and self.living > 1:
            self._shuffle()
            self._round = 0
        self._offset %= len(self._rings)
        leaders_rack, leader = self._next_leader()
        chosen = [leader]
        at = self._offset
        while len(chosen) < factor:
            if at == leaders_rack:
                leaders_rack = -1  # the leader's rack has given one already; it takes part again in the next round
            elif (found := self._next_broker(at)) is not None:
                chosen.append(found)
            at = (at + 1) % len(self._rings)
        self._round += 1
        self._offset += 1
        return tuple(chosen)

    def _next_leader(self) -> tuple[int, int]:
        at = self._offset
        while (found := self._rings[at][0].next(self._round)) is None:
            at = (at + 1) % len(self._rings)
        return at, found

    def _next_broker(self, at: int) -> int | None:
        living, fenced = self._rings[at]
        found = living.next(self._round)
        return fenced.next(self._round) if found is None else found

    def _shuffle(self) -> None:
        self._lots.shuffle(self._rings)
        for rings in self._rings:
            for ring in rings:
                self._lots.shuffle(ring.ids)
