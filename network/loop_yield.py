"""Lets long work yield to the event loop at intervals."""

from collections.abc import Awaitable, Callable


class Pauses:
    """`next` gives the loop away after every `steps` steps."""

    def __init__(self, breathe: Callable[[], Awaitable[None]], steps: int) -> None:
        self._breathe = breathe
        self._steps = steps
        self._taken = 0

    async def next(self) -> None:
        """One step is done."""
        self._taken += 1
        if self._taken >= self._steps:
            self._taken = 0
            await self._breathe()
