"""The hook around dispatch: where faults are injected and requests are recorded.

An interceptor sees each call before its handler and may answer in the handler's place, delay it, or hang up; and sees
the response before it is encoded and may replace it. A broker without interceptors pays one truth test a request.
"""

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .call import Call


class Interceptor(Protocol):
    """Raise `ApiError` to answer with its code, `CloseConnection` to hang up."""

    async def before(self, call: "Call") -> Any | None:
        """A response that replaces the handler's, or None to go on."""
        ...

    async def after(self, call: "Call", response: Any | None) -> Any | None:
        """The response to send (None: none is sent)."""
        ...
