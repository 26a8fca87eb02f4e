"""The hook around dispatch: where faults are injected and requests are recorded.

An interceptor sees each call before its handler and may answer in the handler's place, delay it, or hang up; sees the
response before it is encoded and may replace it; and sees the bytes before they are sent. A broker without interceptors
pays one truth test a request, and one a transaction marker.
"""

from typing import TYPE_CHECKING, Any

from ...protocol.schema import Piece

if TYPE_CHECKING:
    from .call import Call


class Interceptor:
    """Lets everything pass. Raise `ApiError` to answer with its code, `CloseConnection` to hang up."""

    async def before(self, call: "Call") -> Any | None:
        """A response that replaces the handler's, or None to go on."""
        return None

    async def after(self, call: "Call", response: Any | None) -> Any | None:
        """The response to send (None: none is sent)."""
        return response

    def abandon(self, call: "Call") -> None:
        """Called instead where the call ends without a response: somebody hung up, or the broker stops."""

    def before_sending(self, call: "Call", pieces: list[Piece]) -> list[Piece]:
        """What goes over the wire."""
        return pieces

    def loses_marker(self, topic: str, partition: int) -> bool:
        """Returns whether the transaction marker is kept from this partition, though it counts as written."""
        return False
