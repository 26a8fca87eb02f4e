"""States of a classic group, and for each the allowed transitions and how it answers a known member's requests.

    python -c "from stepdown.broker.groups.classic.state_table import state_table; print(state_table())"

Source: Kafka 3.9, ClassicGroupState and GroupMetadataManager.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from ....protocol.errors import ErrorCode


class ClassicGroupState(Enum):
    """Names as DescribeGroups and ListGroups show them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY, PREPARING, COMPLETING, STABLE, DEAD = ClassicGroupState

# The error with which a request is refused in each state; None: it is not refused.
Refusals = Mapping[ClassicGroupState, ErrorCode | None]

NEXT: Final[Mapping[ClassicGroupState, frozenset[ClassicGroupState]]] = {
    EMPTY: frozenset((PREPARING, DEAD)),
    PREPARING: frozenset((COMPLETING, EMPTY, DEAD)),
    COMPLETING: frozenset((STABLE, PREPARING, DEAD)),
    STABLE: frozenset((PREPARING, DEAD)),
    DEAD: frozenset((DEAD,)),
}

HEARTBEAT: Final[Refusals] = {
    EMPTY: ErrorCode.UNKNOWN_MEMBER_ID,
    PREPARING: ErrorCode.REBALANCE_IN_PROGRESS,
    COMPLETING: None,
    STABLE: None,
    DEAD: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
SYNC: Final[Refusals] = {
    EMPTY: ErrorCode.UNKNOWN_MEMBER_ID,
    PREPARING: ErrorCode.REBALANCE_IN_PROGRESS,
    COMPLETING: None,
    STABLE: None,
    DEAD: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
# A member in CompletingRebalance knows the generation but owns no partitions yet.
COMMIT: Final[Refusals] = {
    EMPTY: None,
    PREPARING: None,
    COMPLETING: ErrorCode.REBALANCE_IN_PROGRESS,
    STABLE: None,
    DEAD: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
DELETE: Final[Refusals] = {
    EMPTY: None,
    PREPARING: ErrorCode.NON_EMPTY_GROUP,
    COMPLETING: ErrorCode.NON_EMPTY_GROUP,
    STABLE: ErrorCode.NON_EMPTY_GROUP,
    DEAD: ErrorCode.GROUP_ID_NOT_FOUND,
}


class Rejoin(Enum):
    """How a JoinGroup of a known member is answered."""

    WAIT = "waits for the join phase to end"
    SAME_GENERATION = "the current generation at once"
    REBALANCE = "a rebalance"
    UNKNOWN = "UNKNOWN_MEMBER_ID"


def decide_rejoin(state: ClassicGroupState, *, is_leader: bool, is_unchanged: bool) -> Rejoin:
    """What happens when a known member joins again; `is_unchanged`: its protocols and their metadata are as before.

    A leader's rejoin of a stable group always rebalances, so that it can react to what the broker cannot see.
    """
    if state is PREPARING:
        return Rejoin.WAIT
    if state is COMPLETING:
        return Rejoin.SAME_GENERATION if is_unchanged else Rejoin.REBALANCE
    if state is STABLE:
        return Rejoin.SAME_GENERATION if is_unchanged and not is_leader else Rejoin.REBALANCE
    return Rejoin.UNKNOWN


def state_table() -> str:
    """One line per state."""
    columns = (("heartbeat", HEARTBEAT), ("sync", SYNC), ("commit", COMMIT), ("delete", DELETE))
    lines = [f"{'state':<20}" + "".join(f"{name:<27}" for name, _ in columns) + "next"]
    for state in ClassicGroupState:
        answers = "".join(f"{_text_of(table[state]):<27}" for _, table in columns)
        following = ", ".join(each.value for each in ClassicGroupState if each in NEXT[state])
        lines.append(f"{state.value:<20}{answers}{following}")
    return "\n".join(lines)


def _text_of(answer: ErrorCode | None) -> str:
    return "goes on" if answer is None else answer.name
