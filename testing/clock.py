"""The brokers' clock as a test moves it. Clients have their own clocks."""

from datetime import timedelta

from .blocking_front import BlockingFront, NameSuggestions, blocking
from .control_client import ControlClient


class AsyncClock(NameSuggestions):
    """The clock, with methods to be awaited."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    async def now_ms(self) -> int:
        """Returns the milliseconds since 1970."""
        return int((await self._control.ask("GET", "clock"))["now_ms"])

    async def pause(self) -> None:
        """Stops the clock."""
        await self._control.ask("POST", "clock/pause")

    async def advance(self, by: str | int | timedelta) -> None:
        """Advances by `45s`, a timedelta, or milliseconds; returns after all timers that fall due have run."""
        await self._control.ask("POST", "clock/advance", {"by": by})

    async def resume(self) -> None:
        """Starts the clock again."""
        await self._control.ask("POST", "clock/resume")


class Clock(BlockingFront[AsyncClock]):
    """The same, blocking."""

    pause = blocking(AsyncClock.pause)
    advance = blocking(AsyncClock.advance)
    resume = blocking(AsyncClock.resume)

    @property
    def now_ms(self) -> int:
        """Returns the milliseconds since 1970."""
        return self._run(self.awaited.now_ms())
