"""The interface of SASL mechanisms."""

from typing import Protocol


class Refused(Exception):
    """A login is refused. `told`: the text of the answer; None: a general text.

    The message is for the log: it contains no password, no key and no token.
    """

    def __init__(self, reason: str, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class Mechanism(Protocol):
    """One exchange. `user` is set after success, and `expires_ms` then if the credential expires.

    `most_bytes`: the limit for a client's token; a longer one is refused.
    """

    most_bytes: int
    user: str | None
    expires_ms: int | None

    def step(self, token: bytes) -> bytes:
        """The answer to the client's next token. Raises: Refused."""


def quote_for_log(text: str) -> str:
    """Quotes and shortens a name that a client chose, for the log."""
    return repr(text if len(text) <= 100 else text[:100] + "…")
