"""A side of a TLS connection that goes on with records of its own making, as OpenSSL would not send them.

The handshake is OpenSSL's, with AES-GCM; keys come from its key log. `FLOODS` are records without data in any number.
"""

import asyncio
import hmac
import ssl
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

ALERT, HANDSHAKE, DATA = 21, 22, 23
RENEWAL, RENEWAL_WITH_ANSWER = b"\x18\0\0\1\0", b"\x18\0\0\1\1"
TICKET = b"\4\0\0\x0f" + b"\0\0\1\0" + bytes(4) + b"\1n" + b"\0\1t" + b"\0\0"
"""NewSessionTicket: lifetime, age, nonce, ticket, no extensions (RFC 8446, 4.6.1)."""
WARNING = b"\1\x5a"
"""user_canceled (RFC 8446, 6.1; RFC 5246, 7.2)."""
RANDOM = slice(11, 43)
"""Of a ServerHello that begins a record."""


class Forger(Protocol):
    def record(self, kind: int, content: bytes, padding: int = 0) -> bytes:
        """The next record, encrypted."""

    def renew(self) -> None:
        """What follows has the next key."""


class Forger13:
    """TLS 1.3, from the traffic secret of a side that has sent no data (RFC 8446, 5.2, 7.1 and 7.2)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._hash = hashes.SHA384() if len(secret) == 48 else hashes.SHA256()
        self._use_key()

    def _expand(self, label: bytes, size: int) -> bytes:
        label = b"tls13 " + label
        info = size.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
        return HKDFExpand(self._hash, size, info).derive(self._secret)

    def _use_key(self) -> None:
        self._key = AESGCM(self._expand(b"key", 32 if len(self._secret) == 48 else 16))
        self._iv, self._sequence = int.from_bytes(self._expand(b"iv", 12), "big"), count()

    def record(self, kind: int, content: bytes, padding: int = 0) -> bytes:
        inner = content + bytes([kind]) + bytes(padding)
        head = b"\x17\3\3" + (len(inner) + 16).to_bytes(2, "big")
        return head + self._key.encrypt((self._iv ^ next(self._sequence)).to_bytes(12, "big"), inner, head)

    def renew(self) -> None:
        self._secret = self._expand(b"traffic upd", len(self._secret))
        self._use_key()


class Forger12:
    """TLS 1.2 with AES-256-GCM and SHA-384, of a side after its Finished (RFC 5246, 5 and 6.3; RFC 5288)."""

    def __init__(self, master: bytes, client_random: bytes, server_random: bytes, *, server: bool) -> None:
        seed = b"key expansion" + server_random + client_random
        a, block = seed, b""
        while len(block) < 72:
            a = hmac.digest(master, a, "sha384")
            block += hmac.digest(master, a + seed, "sha384")
        key, salt = (block[32:64], block[68:72]) if server else (block[:32], block[64:68])
        self._key, self._salt, self._sequence = AESGCM(key), salt, count(1)

    def record(self, kind: int, content: bytes, padding: int = 0) -> bytes:
        number = next(self._sequence).to_bytes(8, "big")
        head = bytes([kind]) + b"\3\3"
        sealed = self._key.encrypt(self._salt + number, content, number + head + len(content).to_bytes(2, "big"))
        return head + (8 + len(sealed)).to_bytes(2, "big") + number + sealed

    def renew(self) -> None:
        raise AssertionError("TLS 1.2 has no keys that are renewed")


async def shake_hands(
    context: ssl.SSLContext,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    folder: Path,
    *,
    server: bool,
    change: Callable[[bytes], bytes] = bytes,
) -> Forger:
    """As a client or a server, over streams of TCP, which changes its messages; the forger of what follows. `folder`
    takes the key log."""
    file = folder / f"{id(writer)}.keys"
    context.keylog_filename = str(file)
    if server:
        context.num_tickets = 0
    incoming, outgoing, first = ssl.MemoryBIO(), ssl.MemoryBIO(), b""
    tls = context.wrap_bio(incoming, outgoing, server_side=server)
    while True:
        try:
            tls.do_handshake()
            is_done = True
        except ssl.SSLWantReadError:
            is_done = False
        sent = outgoing.read()
        writer.write(change(sent))
        if is_done:
            break
        data = await reader.read(1 << 16)
        if not data:
            raise ConnectionResetError
        first = first or (sent if server else data)
        incoming.write(data)
    keys = {name: (bytes.fromhex(random), bytes.fromhex(secret)) for name, random, secret in lines(file)}
    if tls.version() == "TLSv1.3":
        return Forger13(keys[f"{'SERVER' if server else 'CLIENT'}_TRAFFIC_SECRET_0"][1])
    random, master = keys["CLIENT_RANDOM"]
    return Forger12(master, random, first[RANDOM], server=server)


def lines(file: Path) -> Iterator[list[str]]:
    return (line.split() for line in file.read_text().splitlines() if not line.startswith("#"))


def client_context(version: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_ciphers("ECDHE+AESGCM+AES256")
    return context


def renewal(forger: Forger, message: bytes = RENEWAL, padding: int = 0) -> bytes:
    data = forger.record(HANDSHAKE, message, padding)
    forger.renew()
    return data


def renewal_in_bytes(forger: Forger) -> bytes:
    """A record for each byte of the message."""
    data = b"".join(forger.record(HANDSHAKE, bytes([byte])) for byte in RENEWAL)
    forger.renew()
    return data


def in_bytes(flight: bytes) -> bytes:
    """The same messages of a handshake in records of a byte each, up to those that are encrypted."""
    data = b""
    while flight and flight[0] == HANDSHAKE:
        size = int.from_bytes(flight[3:5], "big")
        data += b"".join(flight[:3] + b"\0\1" + bytes([byte]) for byte in flight[5 : 5 + size])
        flight = flight[5 + size :]
    return data + flight


HELLO_REQUEST = bytes(4)
CLIENT_HELLO = b"\1" + (41).to_bytes(3, "big") + b"\3\3" + bytes(32) + b"\0" + b"\0\2\xc0\x30" + b"\1\0"
"""Of one cipher suite, without extensions."""
FLOODS: dict[str, Callable[[Forger], bytes]] = {
    "keys": renewal,
    "keys with answers": lambda forger: renewal(forger, RENEWAL_WITH_ANSWER),
    "padded keys": lambda forger: renewal(forger, padding=1000),
    "keys in records of a byte": renewal_in_bytes,
    "records without data": lambda forger: forger.record(DATA, b""),
    "warnings": lambda forger: forger.record(ALERT, WARNING),
}
"""Of TLS 1.3, for either side."""
FLOODS_OF_SERVERS = FLOODS | {"tickets": lambda forger: forger.record(HANDSHAKE, TICKET)}
_BOTH_12 = {name: FLOODS[name] for name in ("records without data", "warnings")}
FLOODS_12 = _BOTH_12 | {"renegotiations": lambda forger: forger.record(HANDSHAKE, CLIENT_HELLO)}
"""Of TLS 1.2."""
FLOODS_12_OF_SERVERS = _BOTH_12 | {"renegotiations": lambda forger: forger.record(HANDSHAKE, HELLO_REQUEST)}
