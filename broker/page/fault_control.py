"""Faults and clock of a broker that tests control, which the page shows and changes.

Where the control port asks for a token, the page has neither: its readers may not know the token.
"""

from collections.abc import Mapping
from dataclasses import fields
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...network.page.page_query import PageQuery, QueryFault
from ..faults.control_operation import ID
from ..faults.fault import Fault
from ..faults.fault_fields import own_field_names
from ..faults.kinds import KINDS
from ..faults.kinds.hook import HookFault

if TYPE_CHECKING:
    from ..dispatch.control_handle import ControlHandle
    from ..services import Services

MOST_FAULTS = 200
OPERATIONS = MappingProxyType(
    {
        "arm": ("POST", "faults"),
        "remove": ("DELETE", f"faults/{ID}"),
        "release": ("POST", f"faults/{ID}/release"),
        "reset": ("POST", "faults/reset"),
        "pause": ("POST", "clock/pause"),
        "advance": ("POST", "clock/advance"),
        "resume": ("POST", "clock/resume"),
    }
)
"""The operation of the control port for each `do` of the page."""


def find_control_without_token(services: "Services") -> "ControlHandle | None":
    """The control port's handle for the page; None where there is no control port, or one with a token."""
    control = services.control
    return None if control is None or control.token else control


class FaultControl:
    """The view `faults`, and its actions."""

    def __init__(self, services: "Services") -> None:
        self._services = services

    async def show(self, query: PageQuery) -> dict[str, Any]:
        """The latest faults, the clock, and the kinds of faults; empty for a broker without control."""
        control = find_control_without_token(self._services)
        if control is None:
            return {
                "is_controlled": False,
                "faults": [],
                "now_ms": None,
                "clock_stands": None,
                "kinds": [],
                "common_fields": [],
            }
        _, armed = await control.handle("GET", "faults", {})
        _, clock = await control.handle("GET", "clock", {})
        return {
            "is_controlled": True,
            "faults": armed["faults"][-MOST_FAULTS:],
            "now_ms": clock["now_ms"],
            "clock_stands": clock["paused"],
            "kinds": [
                {"kind": name, "fields": [*own_field_names(kind)], "does": (kind.__doc__ or "").strip()}
                for name, kind in KINDS.items()
                if kind is not HookFault
            ],
            "common_fields": [each.name for each in fields(Fault)],
        }

    async def act(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Runs the operation that `do` names; `id` is the number of a fault, and `fields` are those of the operation.

        Raises: QueryFault.
        """
        control = find_control_without_token(self._services)
        if control is None:
            raise QueryFault(
                "the broker has no control port, or one that asks for a token: start it with "
                "`stepdown serve --control 127.0.0.1:9100`"
            )
        method, path = OPERATIONS.get(str(given.get("do")), ("", ""))
        if not method:
            raise QueryFault(f"do: expected {', '.join(OPERATIONS)}")
        body = given.get("fields", {})
        if not isinstance(body, dict):
            raise QueryFault("fields: expected an object")
        status, answer = await control.handle(method, path.replace(ID, str(given.get("id", ""))), body)
        if status != HTTPStatus.OK:
            raise QueryFault(str(answer.get("error")))
        return answer
