"""The brokers' clock as a test moves it."""

from .control_client import ControlClient


class Clock:
    """Time of the brokers, not of clients: those have clocks of their own."""

    def __init__(self, control: ControlClient) -> None:
        self._control = control

    @property
    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(self._control.ask("GET", "clock")["now_ms"])

    def pause(self) -> None:
        """It stands still."""
        self._control.ask("POST", "clock/pause")

    def advance(self, by: str | int) -> None:
        """Moves on by `45s`, or milliseconds; returns when what falls due on the way has happened."""
        self._control.ask("POST", "clock/advance", {"by": by})

    def resume(self) -> None:
        """It runs on."""
        self._control.ask("POST", "clock/resume")
