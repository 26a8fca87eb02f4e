"""What the mechanisms have in common."""

from typing import Protocol


class Refused(Exception):
    """The client is not who it says. `told` is the text of the answer; None: a text that explains nothing.

    The message is for the log: it names no password, no key and no token.
    """

    def __init__(self, reason: str, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class Mechanism(Protocol):
    """One exchange. `user` is there when it has succeeded, `expires_ms` when what it showed does so.

    `most_bytes`: of a client's token; a longer one is refused before it is read.
    """

    most_bytes: int
    user: str | None
    expires_ms: int | None

    def step(self, token: bytes) -> bytes:
        """The answer to the client's next token. Raises: Refused."""


def for_log(text: str) -> str:
    """A name that a stranger chose, for the log."""
    return repr(text if len(text) <= 100 else text[:100] + "…")
