"""Transactional ids by state: what a scrape reads off the transaction coordinator."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...network.metrics.instruments import GaugeRow

if TYPE_CHECKING:
    from ..core import Core
    from ..transactions.coordinator import TransactionCoordinator


def show_transactions(core: "Core", coordinator: "Callable[[], TransactionCoordinator | None]") -> None:
    """Registers the gauge; it does not make the coordinator begin."""
    core.metrics.instruments.gauge(
        "stepdown_transactional_ids", "Transactional ids, by state", lambda: _transactional_ids(coordinator()), "state"
    )


def _transactional_ids(coordinator: "TransactionCoordinator | None") -> Iterable[GaugeRow]:
    rows: Counter[tuple[str, ...]] = Counter()
    for transaction in () if coordinator is None else coordinator.transactions:
        rows[(transaction.now.state.label,)] += 1
    return list(rows.items())
