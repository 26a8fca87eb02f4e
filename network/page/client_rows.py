"""The rows of /clients, a few at a time."""

from collections.abc import Awaitable, Callable
from typing import Any

from ..clients.client_report import ClientReport
from .page_query import PageQuery

Rows = list[dict[str, Any]]


class ClientRows:
    """The view `clients`. `work` runs a function in a thread."""

    def __init__(self, report: ClientReport, work: Callable[[Callable[[], Rows]], Awaitable[Rows]]) -> None:
        self._report = report
        self._work = work

    async def show(self, query: PageQuery) -> dict[str, Any]:
        """The clients after the first `after`, the latest first, whose id or address has `contains`.

        Raises: QueryFault.
        """
        start, limit = query.number("after", 0), query.limit
        total, make_rows = self._report.make_rows_maker(start, limit, query.text("contains"))
        rows = await self._work(make_rows)
        end = start + len(rows)
        return {"rows": rows, "total": total, "next": end if end < total and rows else None}
