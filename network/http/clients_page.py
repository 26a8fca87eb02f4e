"""The page /clients: the client report as JSON (`network/clients/client_row.py` has its shape)."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from ..clients.client_report import ClientReport
from .server import Page

Document = dict[str, Any]


class ClientsPage:
    """`work` runs a function in a thread."""

    def __init__(
        self,
        report: ClientReport,
        work: Callable[[Callable[[Callable[[], Document]], bytes], Callable[[], Document]], Awaitable[bytes]],
    ) -> None:
        self._report = report
        self._work = work

    async def __call__(self) -> Page:
        return Page(
            body=await self._work(render_report, self._report.make_document_maker()), content_type="application/json"
        )


def render_report(make_document: Callable[[], Document]) -> bytes:
    """The text of a snapshot of the report."""
    return json.dumps(make_document(), indent=1).encode() + b"\n"
