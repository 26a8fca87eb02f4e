"""Transactions and compaction: what a scrape reads off the coordinator and the cleaner."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .instruments import GaugeRow

if TYPE_CHECKING:
    from ..core import Core
    from ..maintenance.log_cleaner import Cleaner
    from ..transactions.coordinator import TransactionCoordinator


def show_transactions(core: "Core", coordinator: "Callable[[], TransactionCoordinator | None]") -> None:
    """Registers the gauge; it does not make the coordinator begin."""
    core.metrics.instruments.gauge(
        "stepdown_transactional_ids", "Transactional ids, by state", lambda: _transactional_ids(coordinator()), "state"
    )


def show_cleaner(core: "Core", cleaner: "Cleaner") -> None:
    """Registers the gauges of the log cleaner, which have no value before its first round."""
    gauge = core.metrics.instruments.gauge
    gauge(
        "stepdown_cleaner_max_dirty_ratio",
        "Largest dirty ratio of a compacted log when the cleaner last looked",
        lambda: _known(cleaner.max_dirty_ratio),
    )
    gauge(
        "stepdown_cleaner_idle_seconds",
        "Time since the cleaner last looked for work",
        lambda: _known(cleaner.idle_s),
    )
    gauge("stepdown_cleaner_active", "Logs that are being cleaned now", lambda: cleaner.active)
    gauge(
        "stepdown_cleaner_uncleanable_partitions",
        "Compacted logs that the cleaner gave up, since they cannot be read",
        lambda: cleaner.uncleanable,
    )


def _transactional_ids(coordinator: "TransactionCoordinator | None") -> Iterable[GaugeRow]:
    rows: Counter[tuple[str, ...]] = Counter()
    for transaction in () if coordinator is None else coordinator.transactions:
        rows[(transaction.now.state.label,)] += 1
    return list(rows.items())


def _known(value: float | None) -> Iterable[GaugeRow]:
    return () if value is None else (((), value),)
