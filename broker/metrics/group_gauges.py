"""Groups: how many in which state, what they commit, and how far they lag behind.

The lag is the sum over a topic's partitions of high watermark minus committed offset. Names of groups come from
clients, so only the `MOST_SHOWN` largest lags are shown; all else is counted over all groups.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import nlargest
from typing import TYPE_CHECKING, Literal

from ...network.metrics.instruments import GaugeRow

if TYPE_CHECKING:
    from ..core import Core
    from ..groups.coordinator import GroupCoordinator
    from ..groups.group_registry import Group

    Groups = Callable[[], GroupCoordinator | None]

BY_STATE = ("type", "state")
MOST_SHOWN = 500


def show_groups(core: "Core", coordinator: "Groups") -> None:
    """Registers the gauges; none of them makes the coordinator begin."""
    gauge, tally = core.metrics.instruments.gauge, core.metrics.instruments.tally
    gauge("stepdown_groups", "Groups that the coordinator knows", lambda: _count(coordinator()))
    gauge(
        "stepdown_groups_by_state",
        "Groups, by type and state",
        lambda: _by_state(coordinator(), lambda group: 1),
        *BY_STATE,
    )
    gauge(
        "stepdown_group_members",
        "Members of groups, by the group's type and state",
        lambda: _by_state(coordinator(), lambda group: len(group.members)),
        *BY_STATE,
    )
    gauge("stepdown_committed_offsets", "Committed offsets", lambda: _offsets(coordinator()))
    tally(
        "stepdown_group_rebalances",
        "Rebalances that gave a group a new generation or epoch",
        lambda: _count_rows(coordinator(), "rebalances"),
        "type",
    )
    tally(
        "stepdown_group_offset_changes",
        "Offsets of groups that were committed, expired or deleted",
        lambda: _count_rows(coordinator(), "offset_changes"),
        "change",
    )
    gauge(
        "stepdown_group_lag",
        f"Records that a group has yet to commit, by topic; the {MOST_SHOWN} largest",
        lambda: _lags(core, coordinator()),
        *("group", "topic"),
    )


def _count(coordinator: "GroupCoordinator | None") -> int:
    return 0 if coordinator is None else len(coordinator.groups)


def _by_state(coordinator: "GroupCoordinator | None", weight: "Callable[[Group], int]") -> Iterable[GaugeRow]:
    rows: Counter[tuple[str, ...]] = Counter()
    for group in () if coordinator is None else coordinator.groups:
        rows[group.type_name, group.state_name] += weight(group)
    return list(rows.items())


def _offsets(coordinator: "GroupCoordinator | None") -> int:
    return 0 if coordinator is None else len(coordinator.offsets)


def _count_rows(
    coordinator: "GroupCoordinator | None", what: Literal["rebalances", "offset_changes"]
) -> Iterable[GaugeRow]:
    if coordinator is None:
        return ()
    counts = coordinator.rebalances() if what == "rebalances" else coordinator.offset_changes()
    return [((name,), float(count)) for name, count in counts.items()]


def _lags(core: "Core", coordinator: "GroupCoordinator | None") -> Iterable[GaugeRow]:
    if coordinator is None:
        return ()
    lags: dict[tuple[str, ...], float] = {}
    ends = {partition.key: partition.high_watermark for partition in core.cluster.partitions()}
    for group in coordinator.groups:
        for (topic, index), committed in coordinator.offsets.of_group(group.group_id).items():
            behind = max(0, ends.get((topic, index), 0) - committed.offset)
            lags[group.group_id, topic] = lags.get((group.group_id, topic), 0.0) + behind
    return nlargest(MOST_SHOWN, lags.items(), key=lambda row: row[1])
