"""The operations of the control port, for the page of a broker that tests control."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol


class ControlHandle(Protocol):
    """`broker/faults/control_requests.py` is one.

    `token`: what requests at the port have to carry; "": nothing.
    """

    token: str

    async def handle(self, method: str, path: str, body: Mapping[str, Any]) -> tuple[HTTPStatus, dict[str, Any]]:
        """The answer to a request at the control port."""
