"""Gauges of groups: their states, members, commits and lag.

The lag is the sum over a topic's partitions of high watermark minus committed offset. Clients choose the names of
groups, so only the `MOST_SHOWN` largest lags are shown; all other gauges count all groups.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Literal

from ...network.metrics.instruments import GaugeRow, sum_as_one_row, sum_rows

if TYPE_CHECKING:
    from ..core import Core
    from ..groups.coordinator import GroupCoordinator
    from ..groups.group_registry import Group
    from ..groups.offsets.committed_offsets import Offsets

    Groups = Callable[[], GroupCoordinator | None]

BY_STATE = ("type", "state")
MOST_SHOWN = 500


def register_group_gauges(core: "Core", coordinator: "Groups") -> None:
    """Registers the gauges; none of them starts the coordinator."""
    gauge, tally = core.metrics.instruments.gauge, core.metrics.instruments.tally
    gauge("stepdown_groups", "Groups that the coordinator knows", lambda: _count_groups(coordinator()))
    gauge(
        "stepdown_groups_by_state",
        "Groups, by type and state",
        lambda: _sum_by_state(coordinator(), lambda group: 1),
        *BY_STATE,
    )
    gauge(
        "stepdown_group_members",
        "Members of groups, by the group's type and state",
        lambda: _sum_by_state(coordinator(), lambda group: len(group.members)),
        *BY_STATE,
    )
    gauge("stepdown_committed_offsets", "Committed offsets", lambda: _count_offsets(coordinator()))
    tally(
        "stepdown_group_rebalances",
        "Rebalances that gave a group a new generation or epoch",
        lambda: _count_rows(coordinator(), "rebalances_by_type"),
        "type",
    )
    tally(
        "stepdown_group_offset_changes",
        "Offsets of groups that were committed, expired or deleted",
        lambda: _count_rows(coordinator(), "offset_changes_by_kind"),
        "change",
    )
    gauge(
        "stepdown_group_lag",
        f"Records that a group has yet to commit, by topic; the {MOST_SHOWN} largest",
        lambda: _largest_lags(core, coordinator()),
        *("group", "topic"),
    )


def _count_groups(coordinator: "GroupCoordinator | None") -> int:
    return 0 if coordinator is None else len(coordinator.groups)


def _sum_by_state(
    coordinator: "GroupCoordinator | None", weight: "Callable[[Group], int]"
) -> Iterable[GaugeRow | None]:
    groups = () if coordinator is None else coordinator.groups
    return sum_rows(((group.type_name, group.state_name), float(weight(group))) for group in groups)


def _count_offsets(coordinator: "GroupCoordinator | None") -> Iterable[GaugeRow | None]:
    return sum_as_one_row(() if coordinator is None else coordinator.offsets.counts_by_group())


def _count_rows(
    coordinator: "GroupCoordinator | None", what: Literal["rebalances_by_type", "offset_changes_by_kind"]
) -> Iterable[GaugeRow]:
    if coordinator is None:
        return ()
    counts = coordinator.rebalances_by_type() if what == "rebalances_by_type" else coordinator.offset_changes_by_kind()
    return [((name,), float(count)) for name, count in counts.items()]


def _largest_lags(core: "Core", coordinator: "GroupCoordinator | None") -> Iterator[GaugeRow | None]:
    if coordinator is None:
        return
    largest: list[tuple[float, tuple[str, ...]]] = []  # a heap
    for group in coordinator.groups:
        for row in sum_rows(_lags_of_group(core, coordinator.offsets, group.group_id)):
            if row is not None:
                push = heappush if len(largest) < MOST_SHOWN else heappushpop
                push(largest, (row[1], row[0]))
            yield None
        yield None
    yield from ((names, lag) for lag, names in sorted(largest, reverse=True))


def _lags_of_group(core: "Core", offsets: "Offsets", group_id: str) -> Iterator[GaugeRow]:
    for (topic, index), committed in tuple(offsets.of_group(group_id).items()):
        found = core.cluster.topics.get(topic)
        partition = None if found is None else found.partitions.get(index)
        end = partition.high_watermark if partition is not None and partition.is_here else 0
        yield (group_id, topic), float(max(0, end - committed.offset))
