"""The client's side of SCRAM (RFC 5802), as Kafka speaks it: no channel binding, and text as it is, without SASLprep.

    client first   n,,n=user,r=nonce                          user: , is =2C and = is =3D
    server first   r=nonce+more,s=base64 salt,i=iterations
    client final   c=biws,r=nonce+more,p=base64 proof
    server final   v=base64 signature, or e=error

    salted = PBKDF2(password, salt, iterations)      client key = HMAC(salted, "Client Key")
    proof  = client key xor HMAC(H(client key), messages)
    signature = HMAC(HMAC(salted, "Server Key"), messages)

Source: Kafka 3.9, ScramSaslClient, ScramFormatter, ScramMessages.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
LEAST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 1 << 22
"""A server may not keep the client counting for longer than seconds."""


class ScramFailed(Exception):
    """The server broke the protocol, or does not know the password itself."""


class ScramClient:
    """One exchange."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str | None = None) -> None:
        self._hash = HASHES[mechanism]
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={name},r={self._nonce}"
        self._signature = b""

    def first(self) -> bytes:
        return b"n,," + self._bare.encode()

    def final(self, server_first: bytes) -> bytes:
        """Raises: ScramFailed where the answer is not one to what was sent."""
        fields = _fields(server_first)
        nonce, salt, iterations = fields.get("r", ""), _decoded(fields.get("s", "")), fields.get("i", "")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise ScramFailed("the server's nonce does not go on from the client's")
        if not iterations.isascii() or not iterations.isdigit():
            raise ScramFailed(f"{iterations!r} iterations")
        if not LEAST_ITERATIONS <= int(iterations) <= MOST_ITERATIONS:
            raise ScramFailed(f"{iterations} iterations, {LEAST_ITERATIONS} to {MOST_ITERATIONS} are taken")
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, salt, int(iterations))
        bare = f"c=biws,r={nonce}"
        messages = b",".join((self._bare.encode(), server_first, bare.encode()))
        client_key = self._hmac(salted, b"Client Key")
        proof = _xor(client_key, self._hmac(hashlib.new(self._hash, client_key).digest(), messages))
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), messages)
        return f"{bare},p={base64.b64encode(proof).decode()}".encode()

    def check(self, server_final: bytes) -> None:
        """Raises: ScramFailed unless the server has shown that it knows the password."""
        fields = _fields(server_final)
        if "e" in fields:
            raise ScramFailed(fields["e"])
        if not hmac.compare_digest(_decoded(fields.get("v", "")), self._signature):
            raise ScramFailed("the server's signature is wrong: it does not know the password")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()


def _fields(message: bytes) -> dict[str, str]:
    try:
        parts = [part.partition("=") for part in message.decode().split(",")]
    except UnicodeDecodeError:
        raise ScramFailed("the server's message is no text") from None
    return {name: value for name, _, value in parts}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ScramFailed("the server's message is not in base64") from None


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
