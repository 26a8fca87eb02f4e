"""Mutated logins, thrown at a broker that knows one user:

    python -m support.hostile.mutated_logins COUNT SEED

Run in tests/, by `make mutated-logins`. Each input is a connection of its own: what a client sends at a listener with
SASL, with TLS, or inside of TLS, with one to four changes and a request behind it that only a user may send. Says what
`mutated_frames` says; ends with an error when the broker has, when a trace is in its log, or when that request was
answered.
"""

import asyncio
import json
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from random import Random
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from stepdown.bench.servers.admin_connection import frame_of
from stepdown.bench.servers.ports import free_port
from stepdown.client.connection import parse_address
from stepdown.client.security.scram_client import ScramClient
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.broker import Stepdown
from support.certificates import Authority
from support.secure import secure_settings

from ..deadline import DEADLINE_S
from .mutated_frames import Found, Log, probe, throw
from .strangers import Tls, send

USER, PASSWORD = "alice", "the right one, which no mutation of the wrong one is"
A_STEP = 20_000
INSIDE_A_STEP = 400
AT_ONCE = 50
STEPS_OF_A_LOGIN = {"ApiVersions", "SaslHandshake", "SaslAuthenticate"}
"""Of a small request meanwhile, on a machine that does nothing else."""


def mutated(data: bytes, dice: Random) -> bytes:
    """One to four changes."""
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(changed) + 1)
        match dice.randrange(5):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << dice.randrange(8)
            case 1:
                changed[at:at] = dice.randbytes(dice.randint(1, 8))
            case 2:
                del changed[at : at + dice.randint(1, 16)]
            case 3:
                changed[at : at + 4] = struct.pack(">i", dice.choice((-1, 0, 1 << 30, -(1 << 31), 65_535)))
            case _:
                changed += changed[at : at + 32]
    return bytes(changed)


def conversations() -> list[bytes]:
    """What clients send, with the wrong password: none of them is let in as it is."""

    def login(mechanism: str, *tokens: bytes, version: int = 2) -> bytes:
        steps = (frame_of(SaslAuthenticateRequest(auth_bytes=token), version) for token in tokens)
        return frame_of(SaslHandshakeRequest(mechanism=mechanism), 1) + b"".join(steps)

    bare = f"\0{USER}\0wrong".encode()
    first = ScramClient("SCRAM-SHA-256", USER, "wrong", "nonce").first_message()
    final = b"c=biws,r=nonce,p=" + b"A" * 43 + b"="
    token = b"n,,\1auth=Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.\1\1"
    logins = [
        login("PLAIN", bare),
        login("PLAIN", bare, version=0),
        frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 0) + struct.pack(">i", len(bare)) + bare,
        login("SCRAM-SHA-256", first, final),
        login("SCRAM-SHA-512", first, final, version=1),
        login("OAUTHBEARER", token, b"\1"),
        login("GSSAPI", b"\x60\x82" + bytes(40)),
    ]
    asked = [b"", *(frame_of(ApiVersionsRequest(client_software_name="a"), version) for version in (0, 3))]
    return [before + each + frame_of(MetadataRequest(topics=None), 9) for each in logins for before in asked]


def client_hellos() -> list[bytes]:
    return [_hello(version) for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)]


def _hello(version: ssl.TLSVersion) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.maximum_version = version
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1").do_handshake()
    return outgoing.read()


def mutations(samples: list[bytes], dice: Random, count: int) -> Iterator[bytes]:
    return (mutated(dice.choice(samples), dice) for _ in range(count))


async def throw_inside(address: str, sent: Iterator[bytes], dice: Random) -> None:
    """Each inside of TLS, or, one in two, the records themselves mutated that TLS makes of it."""

    async def one(data: bytes) -> None:
        with suppress(OSError, ssl.SSLError):
            reader, writer = await asyncio.open_connection(*parse_address(address))
            try:
                tls = Tls(reader, writer)
                await tls.shake_hands()
                sealed = tls.sealed(data)
                await send(writer, sealed if dice.random() < 0.5 else mutated(sealed, dice))
                writer.write_eof()
                await reader.read()
            finally:
                writer.transport.abort()

    while batch := [data for data, _ in zip(sent, range(AT_ONCE), strict=False)]:
        await asyncio.gather(*(one(data) for data in batch))


def answered(server: Stepdown) -> set[str]:
    """The APIs that the broker has answered."""
    with urlopen(f"http://{server.http}/metrics", timeout=DEADLINE_S) as page:
        families = text_string_to_metric_families(page.read().decode())
    samples = (sample for family in families for sample in family.samples)
    return {each.labels["request"] for each in samples if each.name == "stepdown_requests_total" and each.value}


def run(server: Stepdown, sasl: str, tls: str, count: int, seed: int) -> Found:
    """Raises AssertionError when the broker fails or lets anybody in, TimeoutError when it stalls."""
    dice, found, log = Random(seed), Found(), Log(server)
    before = answered(server)
    threading.Thread(target=probe, args=(server.address, found), daemon=True).start()
    logins, hellos = conversations(), client_hellos()
    while found.frames < count:
        step = min(A_STEP, count - found.frames)
        inside = step * INSIDE_A_STEP // A_STEP
        at_hello = (step - inside) // 2
        throw(sasl, mutations(logins, dice, step - inside - at_hello))
        throw(tls, mutations(hellos, dice, at_hello))
        asyncio.run(throw_inside(tls, mutations(logins, dice, inside), dice))
        found.frames += step
        log.check(found)
        assert answered(server) <= before | STEPS_OF_A_LOGIN
        if not found.baseline_bytes and found.frames >= count // 10:
            found.baseline_bytes = server.usage.rss_bytes()
        found.growth_bytes = server.usage.rss_bytes() - (found.baseline_bytes or server.usage.rss_bytes())
        print(json.dumps(asdict(found)), flush=True)
    return found


def main(count: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ports = {listener: free_port() for listener in ("SASL_PLAINTEXT", "SASL_SSL")}
        settings = secure_settings(Authority(folder)) | {
            "listeners": ",".join(("PLAINTEXT://127.0.0.1:0", *(f"{each}://127.0.0.1:{ports[each]}" for each in ports)))
        }
        del settings["listener.name.mtls.ssl.client.auth"]
        with Stepdown(folder, properties=settings) as server:
            command = [sys.executable, "-m", "stepdown", "users", "set", USER, "-m", "SCRAM-SHA-256"]
            subprocess.run([*command, "-b", server.address], input=PASSWORD.encode(), check=True, capture_output=True)
            run(server, *(f"127.0.0.1:{port}" for port in ports.values()), count, seed)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
