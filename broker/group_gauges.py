"""How far groups lag behind: the sum over a topic's partitions of high watermark minus committed offset.

Names of groups come from clients, so only the `MOST_SHOWN` largest lags are shown; `stepdown_groups` counts all.
"""

from collections.abc import Iterable
from heapq import nlargest
from typing import TYPE_CHECKING

from .instruments import GaugeRow

if TYPE_CHECKING:
    from .broker import Broker

MOST_SHOWN = 500


def show_groups(broker: "Broker") -> None:
    """Registers the gauges; none of them makes the coordinator begin."""
    gauge = broker.metrics.instruments.gauge
    gauge("stepdown_groups", "Groups that the coordinator knows", lambda: _count(broker))
    gauge(
        "stepdown_group_lag",
        f"Records that a group has yet to commit, by topic; the {MOST_SHOWN} largest",
        lambda: _lags(broker),
        *("group", "topic"),
    )


def _count(broker: "Broker") -> int:
    groups = broker.groups_in_use
    return 0 if groups is None else len(groups.groups)


def _lags(broker: "Broker") -> Iterable[GaugeRow]:
    coordinator = broker.groups_in_use
    if coordinator is None:
        return ()
    lags: dict[tuple[str, ...], float] = {}
    ends = {partition.key: partition.high_watermark for partition in broker.cluster.partitions()}
    for group in coordinator.groups:
        for (topic, index), committed in coordinator.offsets.of_group(group.group_id).items():
            behind = max(0, ends.get((topic, index), 0) - committed.offset)
            lags[group.group_id, topic] = lags.get((group.group_id, topic), 0.0) + behind
    return nlargest(MOST_SHOWN, lags.items(), key=lambda row: row[1])
