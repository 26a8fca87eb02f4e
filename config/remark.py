"""A remark, logged at the start, about a setting that was accepted."""

from __future__ import annotations

from dataclasses import dataclass

from .sources.origin import Origin

SECURITY_PREFIXES = (
    "authorizer.",
    "connections.max.reauth",
    "delegation.token.",
    "listener.name.",
    "password.encoder.",
    "principal.",
    "sasl.",
    "security.",
    "ssl.",
    "super.users",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """`text` follows the key: "num.io.threads is accepted but has no effect". `is_quiet`: it is only counted."""

    key: str
    origin: Origin
    text: str
    is_quiet: bool = False

    def __str__(self) -> str:
        return f"{self.origin}: {self.key} {self.text}"


def remark_without_effect(key: str, origin: Origin, text: str) -> Remark:
    """The remark on a setting without effect; it is quiet unless the setting concerns security."""
    return Remark(key=key, origin=origin, text=text, is_quiet=not key.startswith(SECURITY_PREFIXES))
