"""An observer of answered requests; a broker without one pays one comparison a request."""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .call import Call


class RequestWatcher(Protocol):
    """Takes note of each request when its response is known."""

    def note_answer(self, call: "Call", response: Any | None, took_s: float) -> None:
        """`took_s`: the time since the request was read, waits included. It must not raise, and has to be brief."""
