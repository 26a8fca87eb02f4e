"""PLAIN (RFC 4616): `[authorization id] NUL user NUL password`, UTF-8. Source: Kafka 3.9 `PlainSaslServer`."""

import hashlib
import hmac
from collections.abc import Mapping

from .mechanism import Refused, quote_for_log


class Plain:
    """One login. The check takes the same time whether the user exists or not."""

    most_bytes = 16 * 1024

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self.user: str | None = None
        self.expires_ms: int | None = None
        self._passwords = passwords

    def step(self, token: bytes) -> bytes:
        parts = token.decode(errors="replace").split("\0")
        if len(parts) != 3:
            told = f"Invalid SASL/PLAIN response: expected 3 tokens, got {min(len(parts), 4)}"
            raise Refused(f"3 parts expected, found {len(parts)}", told)
        wanted, user, password = parts
        for part, name in ((user, "username"), (password, "password")):
            if not part:
                raise Refused(f"no {name}", f"Authentication failed: {name} not specified")
        known = self._passwords.get(user)
        is_right = hmac.compare_digest(_digest(known or ""), _digest(password))
        if known is None or not is_right:
            why = "there is no user" if known is None else "wrong password of"
            raise Refused(f"{why} {quote_for_log(user)}", "Authentication failed: Invalid username or password")
        if wanted and wanted != user:
            told = "Authentication failed: Client requested an authorization id that is different from username"
            raise Refused(f"{quote_for_log(user)} asks to be {quote_for_log(wanted)}", told)
        self.user = user
        return b""


def _digest(password: str) -> bytes:
    """A digest has a fixed length: comparing passwords of different lengths would take different times."""
    return hashlib.sha256(password.encode()).digest()
