"""SaslHandshake (key 17), versions 0–1, never flexible.

Chooses a SASL mechanism. After v0 raw tokens follow without any header, after v1 SaslAuthenticate.
"""

from collections.abc import Sequence

from ..schema import array, int16, message, string


@message(versions="0-1")
class SaslHandshakeRequest:
    """The mechanism wanted."""

    mechanism: str = string()


@message(versions="0-1")
class SaslHandshakeResponse:
    """Those the broker has."""

    error_code: int = int16()
    mechanisms: Sequence[str] = array(string)
