"""A scan of the port with TLS: nothing old, weak or risky is offered.

With Python's ssl for the ciphers, hand-made ClientHellos for what no library sends any more, and `openssl s_client`.
"""

import asyncio
import re
import shutil
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from support.certificates import Authority
from support.deadline import DEADLINE_S
from support.secure import secure_broker, secure_settings

HANDSHAKE, ALERT = 0x16, 0x15
SERVER_HELLO = 2
SSL_3, TLS_1, TLS_1_1, TLS_1_2 = 0x0300, 0x0301, 0x0302, 0x0303
GOOD_SUITES = (0xC02F, 0xC030, 0xC02B, 0xC02C, 0xCCA8, 0xCCA9)
ALL_SUITES = tuple(range(0x0001, 0x00C6)) + tuple(range(0xC001, 0xC0B0)) + GOOD_SUITES
WEAK = {
    "no encryption": (0x0001, 0x0002, 0x003B, 0xC010),
    "export": (0x0003, 0x0006, 0x0008, 0x0014, 0x0062),
    "RC4": (0x0004, 0x0005, 0xC011),
    "DES": (0x0009, 0x000A, 0x0016, 0xC012),
    "nobody authenticated": (0x0018, 0x0034, 0x00A6, 0xC018),
    "no forward secrecy": (0x002F, 0x0035, 0x009C, 0x009D),
    "CBC": (0xC013, 0xC014, 0xC027, 0xC028),
    "DHE": (0x0033, 0x0039, 0x009E, 0x009F),
}
NO_COMPRESSION, DEFLATE = 0, 1
HEARTBEAT, RENEGOTIATION_INFO, EXTENDED_MASTER_SECRET = 15, 0xFF01, 23


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(Authority(tmp_path))) as broker:
        yield broker


def _extension(number: int, data: bytes) -> bytes:
    return struct.pack(">HH", number, len(data)) + data


def client_hello(
    version: int = TLS_1_2, suites: tuple[int, ...] = GOOD_SUITES, compressions: tuple[int, ...] = (NO_COMPRESSION,)
) -> bytes:
    """One record. SSL 3 has no extensions."""
    extensions = b"".join(
        (
            _extension(10, struct.pack(">HHHH", 6, 23, 24, 29)),  # curves
            _extension(11, b"\1\0"),
            _extension(13, struct.pack(">HHHHHH", 10, 0x0804, 0x0401, 0x0403, 0x0201, 0x0501)),  # signatures
            _extension(HEARTBEAT, b"\1"),
            _extension(RENEGOTIATION_INFO, b"\0"),
            _extension(EXTENDED_MASTER_SECRET, b""),
        )
    )
    body = struct.pack(">H", version) + bytes(32) + b"\0"
    body += struct.pack(f">H{len(suites)}H", 2 * len(suites), *suites)
    body += bytes((len(compressions), *compressions))
    if version > SSL_3:
        body += struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + struct.pack(">I", len(body))[1:] + body
    return struct.pack(">BHH", HANDSHAKE, min(version, TLS_1), len(message)) + message


def ssl_2_hello() -> bytes:
    """Of the format of SSL 2, in which old clients also asked for later versions."""
    message = b"\1" + struct.pack(">HHHH", SSL_3, 6, 0, 16) + bytes.fromhex("010080 0700c0") + bytes(16)
    return struct.pack(">H", 0x8000 | len(message)) + message


async def answer_to(broker: Broker, hello: bytes) -> bytes:
    """What the broker says before it waits or hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.addresses["SSL"].port)
    writer.write(hello)
    writer.write_eof()
    answer = b""
    with suppress(ConnectionError):
        answer = await reader.read()
    writer.transport.abort()
    return answer


def server_hello(answer: bytes) -> tuple[int, int, int, set[int]]:
    """Version, suite, compression and extensions."""
    assert (answer[0], answer[5]) == (HANDSHAKE, SERVER_HELLO)
    body = answer[9:]
    at = 35 + body[34]
    (version,), (suite, compression) = struct.unpack_from(">H", body), struct.unpack_from(">HB", body, at)
    (left,) = struct.unpack_from(">H", body, at + 3)
    at, end, extensions = at + 5, at + 5 + left, set()
    while at < end:
        number, size = struct.unpack_from(">HH", body, at)
        extensions.add(number)
        at += 4 + size
    return version, suite, compression, extensions


async def test_what_is_offered_to_tls_1_2(broker: Broker) -> None:
    """So the refusals below mean something. CVE-2012-4929 (compression), CVE-2014-0160 (heartbeats), CVE-2009-3555
    (a renegotiation that is not bound to its connection); extended master secrets, against triple handshakes."""
    hello = client_hello(suites=ALL_SUITES, compressions=(DEFLATE, NO_COMPRESSION))
    version, suite, compression, extensions = server_hello(await answer_to(broker, hello))
    assert (version, compression) == (TLS_1_2, NO_COMPRESSION)
    assert suite in GOOD_SUITES
    assert HEARTBEAT not in extensions
    assert {RENEGOTIATION_INFO, EXTENDED_MASTER_SECRET} <= extensions


@pytest.mark.parametrize("version", [SSL_3, TLS_1, TLS_1_1], ids=["SSL 3", "TLS 1.0", "TLS 1.1"])
async def test_no_old_version_is_spoken(broker: Broker, version: int) -> None:
    answer = await answer_to(broker, client_hello(version, ALL_SUITES))
    assert answer[:1] in (b"", bytes((ALERT,)))


async def test_ssl_2_is_not_spoken(broker: Broker) -> None:
    answer = await answer_to(broker, ssl_2_hello())
    assert answer[:1] in (b"", bytes((ALERT,)))


@pytest.mark.parametrize("kind", WEAK)
async def test_no_weak_suite_is_taken(broker: Broker, kind: str) -> None:
    answer = await answer_to(broker, client_hello(suites=WEAK[kind]))
    assert answer[:1] in (b"", bytes((ALERT,)))


async def test_compression_alone_is_refused(broker: Broker) -> None:
    answer = await answer_to(broker, client_hello(compressions=(DEFLATE,)))
    assert answer[:1] in (b"", bytes((ALERT,)))


async def test_python_agrees_about_the_ciphers(broker: Broker) -> None:
    accepted = set()
    for name in [each["name"] for each in _open_minded().get_ciphers() if each["protocol"] != "TLSv1.3"]:
        context = _open_minded()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(f"{name}:@SECLEVEL=0")
        try:
            tls = await asyncio.to_thread(_connected, broker, context)
        except (ssl.SSLError, ConnectionError):
            continue
        assert tls.compression() is None
        accepted.add(tls.cipher()[0])  # type: ignore[index]
        tls.close()
    assert accepted
    assert all(re.fullmatch(r"ECDHE-(RSA|ECDSA)-(AES(128|256)-GCM|CHACHA20).*", name) for name in accepted)


def _open_minded() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:COMPLEMENTOFALL:@SECLEVEL=0")
    context.options &= ~ssl.OP_NO_COMPRESSION
    return context


def _connected(broker: Broker, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(socket.create_connection(("127.0.0.1", broker.addresses["SSL"].port), DEADLINE_S))


async def test_openssl_cannot_renegotiate(broker: Broker) -> None:
    """CVE-2011-1473: each renegotiation costs the server ten times what it costs the client."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command")
    process = await asyncio.create_subprocess_exec(
        *("openssl", "s_client", "-tls1_2", "-connect", str(broker.addresses["SSL"])),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(DEADLINE_S):
        told = await process.stdout.readuntil(b"Verify return code")
        assert b"Secure Renegotiation IS supported" in told
        process.stdin.write(b"R\n")
        told = await process.stdout.read()
        await process.wait()
    assert b"RENEGOTIATING" in told
    assert b"no renegotiation" in told
