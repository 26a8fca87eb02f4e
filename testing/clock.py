"""The brokers' clock as a test moves it: time of the brokers, not of clients, which have clocks of their own."""

from datetime import timedelta

from .blocking_front import BlockingFront, NameSuggestions, blocking
from .control_client import ControlClient


class AsyncClock(NameSuggestions):
    """To be awaited."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    async def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return int((await self._control.ask("GET", "clock"))["now_ms"])

    async def pause(self) -> None:
        """It stands still."""
        await self._control.ask("POST", "clock/pause")

    async def advance(self, by: str | int | timedelta) -> None:
        """Moves on by `45s`, a timedelta, or milliseconds; returns when what falls due on the way has happened."""
        await self._control.ask("POST", "clock/advance", {"by": by})

    async def resume(self) -> None:
        """It runs on."""
        await self._control.ask("POST", "clock/resume")


class Clock(BlockingFront[AsyncClock]):
    """The same, blocking."""

    pause = blocking(AsyncClock.pause)
    advance = blocking(AsyncClock.advance)
    resume = blocking(AsyncClock.resume)

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._run(self.awaited.now_ms())
