"""A secret that was given to a broker, or tried on it, is found nowhere afterwards: a session with failures, then a
search for all that was planted."""

import asyncio
import base64
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from stepdown.bench.servers.ports import free_port
from stepdown.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from stepdown.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from stepdown.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.messages.metadata import MetadataRequest
from support.certificates import Authority
from support.client import RawClient
from support.deadline import DEADLINE_S
from support.sasl_client import authenticate, bare, handshake, log_in

BROKER = 4
KEY_PASSWORD = "planted-password-of-the-key"
PLAIN_PASSWORD = "planted-password-of-plain"
SCRAM_PASSWORD = "planted-password-of-scram"
STORE_PASSWORD = "planted-password-of-a-store"
CONTROL_TOKEN = "planted-token-of-the-control-port"
TRIED = "planted-and-wrong"
BEARER = "eyJhbGciOiJub25lIn0.planted-claims-of-a-token.x"


def settings(folder: Path, port: int, control: int) -> dict[str, str]:
    authority = Authority(folder)
    pem = authority.issue("broker").read_bytes()
    key = load_pem_private_key(pem, None)
    chain = b"".join(each.public_bytes(Encoding.PEM) for each in x509.load_pem_x509_certificates(pem))
    own = folder / "own.pem"
    own.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(KEY_PASSWORD.encode())) + chain
    )
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{PLAIN_PASSWORD}";'
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:0",
        "ssl.keystore.location": str(own),
        "ssl.keystore.type": "PEM",
        "ssl.key.password": KEY_PASSWORD,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        "stepdown.oauthbearer.unsecured": "true",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas,
        "connection.failed.authentication.delay.ms": "0",
        "stepdown.control.listen": f"127.0.0.1:{control}",
        "stepdown.control.token": CONTROL_TOKEN,
    }


def planted() -> list[str]:
    """As they are, and as base64 has them wherever they begin."""
    texts = (KEY_PASSWORD, PLAIN_PASSWORD, SCRAM_PASSWORD, STORE_PASSWORD, CONTROL_TOKEN, TRIED, BEARER)
    encoded = (base64.b64encode(bytes(shift) + text.encode()).decode()[4:-4] for text in texts for shift in range(3))
    return [*texts, *encoded, "PRIVATE KEY"]


def check(shown: str) -> None:
    found = [secret for secret in planted() if secret in shown]
    assert found == []


async def session(address: str, sasl: str) -> str:
    """All that clients are told, of what goes well and of what fails."""
    told: list[object] = []

    async def connect(at: str) -> RawClient:
        host, _, port = at.rpartition(":")
        return await RawClient.connect(host, int(port))

    for mechanism, right in (("PLAIN", PLAIN_PASSWORD), ("SCRAM-SHA-256", SCRAM_PASSWORD)):
        for password in (right, TRIED):
            async with await connect(sasl) as client:
                told.append(await log_in(client, mechanism, "alice", password))
    for mechanism, token in (
        ("PLAIN", f"{TRIED}\0\0{TRIED}\0{TRIED}".encode()),
        ("SCRAM-SHA-256", f"n,,n={TRIED}".encode()),
        ("OAUTHBEARER", f"n,,\1auth=Bearer {BEARER}\1\1".encode()),
    ):
        async with await connect(sasl) as client:
            await handshake(client, mechanism)
            told.append(await authenticate(client, token))
    async with await connect(sasl) as client:
        await handshake(client, "PLAIN", 0)
        told.append(await bare(client, f"\0alice\0{TRIED}".encode()))
    async with await connect(sasl) as client:
        await client.send_raw(f"\0\0\0\xff{TRIED}".encode())
    async with await connect(address) as client:
        resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1")
        told.append(await client.send(DescribeConfigsRequest(resources=(resource,), include_synonyms=True), 4))
        for key in ("ssl.keystore.password", "ssl.key.password", "listener.name.ssl.ssl.keystore.password"):
            change = AlterableConfig(name=key, config_operation=0, value=STORE_PASSWORD)
            wanted = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=(change,))
            told.append(await client.send(IncrementalAlterConfigsRequest(resources=(wanted,)), 1))
        told.append(await client.send(DescribeConfigsRequest(resources=(resource,), include_synonyms=True), 4))
        told.append(await client.send(DescribeUserScramCredentialsRequest(users=None), 0))
        told.append(await client.send(DescribeClientQuotasRequest(components=(), strict=False), 1))
        told.append(await client.send(MetadataRequest(topics=None), 9))
    return repr(told)


def serve(folder: Path, given: dict[str, str]) -> list[str]:
    command = [sys.executable, "-m", "stepdown", "serve", "--log-level", "debug", "--log-dir", str(folder / "data")]
    for key, value in {"stepdown.http.listen": "127.0.0.1:0", **given}.items():
        command += ["-o", f"{key}={value}"]
    return command


@contextmanager
def serving(folder: Path, given: dict[str, str]) -> Iterator[tuple[str, str, Path]]:
    """The addresses of the first listener and of /metrics, and the file with what the broker writes."""
    output = folder / "output"
    with (
        output.open("wb") as file,
        subprocess.Popen(serve(folder, given), stdout=subprocess.PIPE, stderr=file, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            address, http = re.findall(r"127\.0\.0\.1:\d+", line)[:2]
            yield address, http, output
            process.terminate()
            assert process.wait(DEADLINE_S) == 0
        finally:
            process.kill()


def test_what_was_planted_is_found_nowhere_after_a_session_with_failures(tmp_path: Path) -> None:
    """At the level debug: log, answers, metrics, the control port, DescribeConfigs."""
    port, control = free_port(), free_port()
    with serving(tmp_path, settings(tmp_path, port, control)) as (address, http, output):
        set_password = [sys.executable, "-m", "stepdown", "users", "set", "alice", "-m", "SCRAM-SHA-256", "-b", address]
        done = subprocess.run(set_password, input=SCRAM_PASSWORD, text=True, check=True, capture_output=True)
        check(done.stdout + done.stderr)
        check(asyncio.run(session(address, f"127.0.0.1:{port}")))
        with urlopen(f"http://{http}/metrics") as page:
            check(page.read().decode())
        for token in (TRIED, CONTROL_TOKEN):
            asked = Request(f"http://127.0.0.1:{control}/faults", headers={"Authorization": f"Bearer {token}"})
            try:
                with urlopen(asked) as page:
                    check(page.read().decode())
            except HTTPError as refusal:
                check(str(refusal) + str(refusal.headers) + refusal.read().decode())
        with socket.create_connection(("127.0.0.1", control)) as sock:
            sock.sendall(f"GET /x HTTP/1.1\r\nAuthorization: {TRIED}\r\nbroken {TRIED}\r\n\r\n".encode())
            check(sock.recv(1 << 16).decode())
    log = output.read_text()
    assert "authentication by PLAIN failed" in log
    check(log)


BAD = {
    "a JAAS setting that ends early": {
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'PlainLoginModule required user_alice="{TRIED}'
    },
    "a JAAS setting of another mechanism": {
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'x.ScramLoginModule required password="{TRIED}";'
    },
    "the wrong password of the key": {"ssl.key.password": TRIED},
    "a key that is none": {"ssl.keystore.location": "", "ssl.keystore.key": TRIED, "ssl.keystore.type": "PEM"},
    "a password where a number should be": {"sasl.server.max.receive.size": "x", "ssl.keystore.password": TRIED},
    "a setting of another listener": {"listener.name.other.ssl.keystore.password": TRIED, "listeners": "x"},
}


@pytest.mark.parametrize("bad", BAD)
def test_a_start_that_fails_tells_no_secret(tmp_path: Path, bad: str) -> None:
    given = settings(tmp_path, free_port(), free_port()) | BAD[bad]
    done = subprocess.run(serve(tmp_path, given), capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode != 0
    check(done.stdout + done.stderr)
