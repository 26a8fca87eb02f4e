"""Suspends a broker for a test: it accepts connections and reads requests, but answers none until it is resumed."""

import asyncio
from typing import TYPE_CHECKING, Any

from .interceptor import Interceptor

if TYPE_CHECKING:
    from .call import Call


class Suspension(Interceptor):
    """An interceptor that holds every request before it is handled, and every response before it is sent."""

    def __init__(self) -> None:
        self._going = asyncio.Event()
        self._going.set()

    @property
    def is_on(self) -> bool:
        return not self._going.is_set()

    def begin(self) -> None:
        self._going.clear()

    def end(self) -> None:
        """Lets held requests and responses go on, in their order on each connection."""
        self._going.set()

    async def before(self, call: "Call") -> Any | None:
        await self._going.wait()
        return None

    async def after(self, call: "Call", response: Any | None) -> Any | None:
        await self._going.wait()
        return response
