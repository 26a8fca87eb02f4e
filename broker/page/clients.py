"""The clients, as the report on /clients has them, a few at a time."""

from typing import TYPE_CHECKING, Any

from ...network.page.page_query import PageQuery

if TYPE_CHECKING:
    from ..services import Services


async def show_clients(services: "Services", query: PageQuery) -> dict[str, Any]:
    """The clients after the first `after`, the latest first. Raises: QueryFault."""
    start, limit = query.number("after", 0), query.limit
    total = len(services.clients)
    rows = await services.heavy(services.clients.latest(start, limit))
    end = start + len(rows)
    return {"rows": rows, "total": total, "next": end if end < total and rows else None}
