"""The transactional ids that this broker coordinates."""

from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from ...network.page.page_query import PageQuery
from ...network.page.row_window import take_window

if TYPE_CHECKING:
    from ..services import Services
    from ..transactions.transaction import TransactionMetadata

MOST_PARTITIONS = 20


async def show_transactions(services: "Services", query: PageQuery) -> dict[str, Any]:
    """Ids after `after` whose name has `contains`; with `open=true` those with a transaction that is under way.

    Raises: QueryFault.
    """
    coordinator = services.transactions_in_use
    known = {} if coordinator is None else {each.transactional_id: each.now for each in coordinator.transactions}
    part, is_open_only = query.text("contains"), query.flag("open")

    def is_wanted(name: str) -> bool:
        return part in name and not (is_open_only and known[name].state.is_idle)

    window = await take_window(known, query.text("after") or None, query.limit, services.turns.begin(), is_wanted)
    now_ms = services.clock.now_ms()
    return window.document([_make_row(name, known[name], now_ms) for name in window.keys])


def _make_row(transactional_id: str, now: "TransactionMetadata", now_ms: int) -> dict[str, Any]:
    return {
        "id": transactional_id,
        "state": now.state.label,
        "producer_id": now.producer_id,
        "producer_epoch": now.producer_epoch,
        "timeout_ms": now.timeout_ms,
        "open_ms": None if now.state.is_idle else max(0, now_ms - now.start_ms),
        "updated_ms": now.updated_ms,
        "partition_count": len(now.partitions),
        "partitions": [f"{topic}-{index}" for topic, index in nsmallest(MOST_PARTITIONS, now.partitions)],
    }
