"""What a call on a client ends with when it came to nothing."""

from typing import Final

from ..protocol.errors import ErrorCode

MAX_SHOWN_CHARACTERS: Final = 1000
"""Of a text that a broker sent; the rest is cut."""


class ClientError(Exception):
    """A call came to nothing, and why; `code` is the broker's error, where it was one."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(message)
        self.code = code


class AuthenticationFailed(ClientError):
    """A broker did not believe who the client is, or could not show who it is itself; trying again is no use."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.SASL_AUTHENTICATION_FAILED) -> None:
        super().__init__(message, code)


def printable(text: str) -> str:
    """A broker's text as one line of bounded length, in which no control character is left."""
    shown = text[:MAX_SHOWN_CHARACTERS]
    escaped = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)
    return escaped + ("…" if len(text) > MAX_SHOWN_CHARACTERS else "")
