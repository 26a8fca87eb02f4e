"""SaslAuthenticate (key 36), versions 0–2, flexible from 2.

Carries one step of a SASL exchange. v1 adds the session lifetime (KIP-368).
"""

from ..schema import binary, int16, int64, message, record_set, string


@message(versions="0-2", flexible="2+")
class SaslAuthenticateRequest:
    """A token of the client. It is read where it stands, as records are: strangers send half a MiB."""

    auth_bytes: bytes | memoryview = record_set(default=b"")


@message(versions="0-2", flexible="2+")
class SaslAuthenticateResponse:
    """A token of the broker."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    auth_bytes: bytes = binary()
    session_lifetime_ms: int = int64("1+", ignorable=True)
