"""Gauge of transactional ids by state."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...network.metrics.instruments import GaugeRow, sum_rows

if TYPE_CHECKING:
    from ..core import Core
    from ..transactions.coordinator import TransactionCoordinator


def register_transaction_gauges(core: "Core", coordinator: "Callable[[], TransactionCoordinator | None]") -> None:
    """Registers the gauge; it does not start the coordinator."""
    core.metrics.instruments.gauge(
        "stepdown_transactional_ids",
        "Transactional ids, by state",
        lambda: _count_transactional_ids(coordinator()),
        "state",
    )


def _count_transactional_ids(coordinator: "TransactionCoordinator | None") -> Iterable[GaugeRow | None]:
    known = () if coordinator is None else coordinator.transactions
    return sum_rows(((each.now.state.label,), 1.0) for each in known)
