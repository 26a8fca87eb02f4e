"""The client's side of SCRAM; `protocol/scram.py` has messages and formulas. Source: Kafka 3.9, ScramSaslClient."""

import hmac
import secrets
from typing import Final

from ...protocol.scram import (
    LEAST_ITERATIONS,
    base64_bytes,
    base64_text,
    digest,
    escape_name,
    hmac_of,
    salt_password,
    xor,
)
from ..errors import make_printable

MOST_ITERATIONS: Final = 1 << 17
"""Eight times the most that Kafka stores: a hostile server can keep the client busy for 0.1 s."""
MAX_MESSAGE_BYTES: Final = 8192
MAX_SALT_BYTES: Final = 1024
_ITERATIONS_DIGITS: Final = len(str(MOST_ITERATIONS))


class ScramFailed(Exception):
    """The server broke the protocol, refused the login, or does not know the password."""


class ScramClient:
    """The messages of one login."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str | None = None) -> None:
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._bare = f"n={escape_name(username)},r={self._nonce}"
        self._signature = b""

    def first_message(self) -> bytes:
        return b"n,," + self._bare.encode()

    def final_message(self, server_first: bytes) -> bytes:
        """Raises: ScramFailed if `server_first` does not answer the first message."""
        fields = _parse_fields(server_first)
        nonce, salt, iterations = (
            fields.get("r", ""),
            _decode(fields.get("s", "")),
            _parse_iterations(fields.get("i", "")),
        )
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise ScramFailed("the server's nonce does not go on from the client's")
        if len(salt) > MAX_SALT_BYTES:
            raise ScramFailed(f"a salt of {len(salt)} bytes, at most {MAX_SALT_BYTES} are taken")
        salted = salt_password(self._mechanism, self._password, salt, iterations)
        bare = f"c=biws,r={nonce}"
        messages = b",".join((self._bare.encode(), server_first, bare.encode()))
        client_key = self._sign(salted, b"Client Key")
        proof = xor(client_key, self._sign(digest(self._mechanism, client_key), messages))
        self._signature = self._sign(self._sign(salted, b"Server Key"), messages)
        return f"{bare},p={base64_text(proof)}".encode()

    def verify_server(self, server_final: bytes) -> None:
        """Raises: ScramFailed unless the server has shown that it knows the password."""
        fields = _parse_fields(server_final)
        if "e" in fields:
            raise ScramFailed(make_printable(fields["e"]))
        if not hmac.compare_digest(_decode(fields.get("v", "")), self._signature):
            raise ScramFailed("the server's signature is wrong: it does not know the password")

    def _sign(self, key: bytes, message: bytes) -> bytes:
        return hmac_of(self._mechanism, key, message)


def _parse_iterations(text: str) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= _ITERATIONS_DIGITS
    if not is_number or not LEAST_ITERATIONS <= int(text) <= MOST_ITERATIONS:
        raise ScramFailed(f"{make_printable(text)!r} iterations, {LEAST_ITERATIONS} to {MOST_ITERATIONS} are taken")
    return int(text)


def _parse_fields(message: bytes) -> dict[str, str]:
    if len(message) > MAX_MESSAGE_BYTES:
        raise ScramFailed(f"the server's message has {len(message)} bytes, at most {MAX_MESSAGE_BYTES} are taken")
    try:
        parts = [part.partition("=") for part in message.decode().split(",")]
    except UnicodeDecodeError:
        raise ScramFailed("the server's message is no text") from None
    return {name: value for name, _, value in parts}


def _decode(text: str) -> bytes:
    try:
        return base64_bytes(text)
    except ValueError:
        raise ScramFailed("the server's message is not in base64") from None
