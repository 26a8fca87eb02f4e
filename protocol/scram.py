"""SCRAM (RFC 5802) as Kafka speaks it: no channel binding, and text as it is, without SASLprep.

    client first   n,[a=user],n=user,r=nonce          user: , is =2C and = is =3D
    server first   r=nonce+more,s=base64 salt,i=iterations
    client final   c=biws,r=nonce+more,p=base64 proof
    server final   v=base64 signature, or e=error

    salted = PBKDF2(password, salt, iterations)      client key = HMAC(salted, "Client Key")
    stored key = H(client key)                       server key = HMAC(salted, "Server Key")
    proof  = client key xor HMAC(stored key, messages)
    signature = HMAC(server key, messages)

Source: Kafka 3.9, ScramFormatter, ScramMessages.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Final

HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
SCRAM_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""By the code in messages and records (KIP-554)."""
LEAST_ITERATIONS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """What a server keeps of a password, which cannot be had from it."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def credential_of(mechanism: str, salt: bytes, salted: bytes, iterations: int) -> ScramCredential:
    """What is kept of a salted password."""
    client_key = hmac_of(mechanism, salted, b"Client Key")
    return ScramCredential(
        salt=salt,
        stored_key=digest(mechanism, client_key),
        server_key=hmac_of(mechanism, salted, b"Server Key"),
        iterations=iterations,
    )


def salt_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


def hmac_of(mechanism: str, key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, HASHES[mechanism]).digest()


def digest(mechanism: str, data: bytes) -> bytes:
    return hashlib.new(HASHES[mechanism], data).digest()


def xor(one: bytes, other: bytes) -> bytes:
    """Raises: ValueError when their lengths differ."""
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def base64_bytes(text: str) -> bytes:
    """Raises: ValueError."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as fault:
        raise ValueError(f"no base64: {fault}") from fault


def escape_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
