"""What the page asks where a broker is under control, of tests: the operations of the control port."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol


class ControlHandle(Protocol):
    """`broker/faults/control_requests.py` is one.

    `token`: what is asked of those who come by a port; "": nothing.
    """

    token: str

    async def handle(self, method: str, path: str, body: Mapping[str, Any]) -> tuple[HTTPStatus, dict[str, Any]]:
        """The answer to a request at the control port."""
