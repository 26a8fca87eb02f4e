"""What went wrong elsewhere does not here: a test for each known vulnerability of Kafka that can apply.

Those of TLS are in `test_tls_scan.py`, logins that are mutated in `test_mutated_logins.py`.
"""

import base64
import hashlib
import inspect
import json
import struct
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from stepdown.broker.broker import Broker
from stepdown.broker.handlers import SERVED
from stepdown.client.security.scram_client import ScramClient, ScramFailed
from stepdown.config import ConfigError, load
from stepdown.network.admission.listener_admission import MEMORY_BYTES
from stepdown.network.sasl import plain, scram
from stepdown.network.sasl.login_credential import LoginCredential
from stepdown.network.sasl.mechanism import Refused
from stepdown.network.sasl.scram import Scram
from stepdown.protocol.api import API, ApiKey
from stepdown.protocol.errors import ErrorCode, MalformedFrame
from stepdown.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from stepdown.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from stepdown.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from stepdown.protocol.schema import decode
from stepdown.protocol.scram import (
    ScramCredential,
    base64_text,
    credential_of,
    digest,
    hmac_of,
    salt_password,
    xor,
)
from support.certificates import Authority
from support.client import RawClient
from support.running import until
from support.sasl_client import authenticate, handshake, log_in, plain_token
from support.secure import PASSWORD, SALT, USER, secure_broker, secure_settings, set_password

BROKER_RESOURCE = 4


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
async def broker(tmp_path: Path, authority: Authority) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", secure_settings(authority)) as broker:
        yield broker


async def connect(broker: Broker, listener: str = "SASL_PLAINTEXT") -> RawClient:
    return await RawClient.connect("127.0.0.1", broker.addresses[listener].port)


async def test_cve_2017_12610_a_login_is_for_the_user_who_proves_it(broker: Broker) -> None:
    """The authorization id let an authenticated client be anybody else."""
    await set_password(broker, "bob", "other")
    async with await connect(broker) as client:
        await handshake(client, "PLAIN")
        answer = await authenticate(client, plain_token(wanted="bob"))
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    async with await connect(broker) as client:
        await handshake(client, "SCRAM-SHA-256")
        first = ScramClient("SCRAM-SHA-256", USER, PASSWORD).first_message().replace(b"n,,", b"n,a=bob,")
        assert (await authenticate(client, first)).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_cve_2021_38153_secrets_are_compared_in_constant_time() -> None:
    for module in (plain, scram):
        assert "hmac.compare_digest" in inspect.getsource(module)


async def test_cve_2022_34917_memory_before_authentication_is_bounded(broker: Broker) -> None:
    """A connection could announce, and have held, as much as it liked."""
    shared = broker._admissions["SASL_PLAINTEXT"]._shared.memory
    clients = [await connect(broker) for _ in range(60)]
    for client in clients:
        await client.send_raw(struct.pack(">i", 524_288) + bytes(4_000))
    await until(lambda: shared.waits == 60 - MEMORY_BYTES // 524_288)
    assert shared.in_use_bytes <= MEMORY_BYTES
    assert all(each._parser.buffered_bytes <= 8_192 for each in broker._server._open)
    for client in clients:
        await client.close()


def scram_messages(change: Callable[[str], str] = lambda nonce: nonce) -> None:
    """A whole exchange with the nonce changed in the last message, whose proof is for that. Raises: Refused."""
    salted = salt_password("SCRAM-SHA-256", PASSWORD, SALT, 4096)
    stored = credential_of("SCRAM-SHA-256", SALT, salted, 4096)
    server = Scram("SCRAM-SHA-256", lambda user: LoginCredential(stored))
    first = f"n={USER},r=own"
    answer = server.step(f"n,,{first}".encode()).decode()
    last = f"c={base64_text(b'n,,')},r={change(answer[2 : answer.index(',')])}"
    key = hmac_of("SCRAM-SHA-256", salted, b"Client Key")
    signature = hmac_of("SCRAM-SHA-256", digest("SCRAM-SHA-256", key), f"{first},{answer},{last}".encode())
    assert server.step(f"{last},p={base64_text(xor(key, signature))}".encode()).startswith(b"v=")
    assert server.user == USER


def test_cve_2024_56128_the_nonce_of_the_last_message_is_checked() -> None:
    scram_messages()
    for changed in ("another", "own", "x"):
        with pytest.raises(Refused, match="nonce"):
            scram_messages(lambda _, changed=changed: changed)  # type: ignore[misc]
    for change in (lambda nonce: nonce[:-1], lambda nonce: nonce + "x", lambda nonce: nonce.removeprefix("own")):
        with pytest.raises(Refused, match="nonce"):
            scram_messages(change)


def test_scram_of_librdkafka_before_2_6_1_has_its_own_nonce_twice() -> None:
    """It was refused: kcat of Debian 12 and confluent-kafka of all years before 2024 could not log in."""
    scram_messages(lambda nonce: "own" + nonce)


@pytest.mark.parametrize("iterations", [1, 4095, 1 << 30, 10**30])
def test_cve_2026_10143_a_server_cannot_have_its_client_count_for_ever_or_hardly_at_all(iterations: int) -> None:
    client = ScramClient("SCRAM-SHA-256", USER, PASSWORD, nonce="abc")
    with pytest.raises(ScramFailed, match="iterations"):
        client.final_message(f"r=abcdef,s=c2FsdA==,i={iterations}".encode())


@pytest.mark.parametrize("iterations", [-1, 0, 4095, 16_385, (1 << 31) - 1])
async def test_a_client_cannot_store_hostile_iterations(broker: Broker, iterations: int) -> None:
    upsertion = ScramCredentialUpsertion(
        name="eve", mechanism=1, iterations=iterations, salt=b"", salted_password=bytes(32)
    )
    async with await connect(broker, "PLAINTEXT") as client:
        answer = await client.send(AlterUserScramCredentialsRequest(deletions=(), upsertions=(upsertion,)), 0)
    assert answer.results[0].error_code == ErrorCode.UNACCEPTABLE_CREDENTIAL


def test_what_was_stored_with_few_iterations_logs_nobody_in() -> None:
    stored = ScramCredential(salt=b"s", stored_key=bytes(32), server_key=bytes(32), iterations=100)
    with pytest.raises(Refused, match="iterations"):
        Scram("SCRAM-SHA-256", lambda user: LoginCredential(stored)).step(b"n,,n=a,r=b")


class Issuer:
    """Signs tokens; `file` holds its public keys."""

    def __init__(self, folder: Path) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        public: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        self.file = folder / "jwks.json"
        self.file.write_text(json.dumps({"keys": [public | {"kid": "1", "alg": "RS256", "use": "sig"}]}))
        self.public = public

    def token(self, *, algorithm: str = "RS256", key: Any = None, kid: str = "1", **claims: object) -> str:
        now = int(time.time())
        body = {"sub": "carol", "iat": now, "exp": now + 60, "aud": "kafka", "iss": "us"} | claims
        body = {name: value for name, value in body.items() if value is not None}
        return jwt.encode(body, self.key if key is None else key, algorithm=algorithm, headers={"kid": kid})


def oauth_settings(authority: Authority, issuer: Issuer) -> dict[str, str]:
    return secure_settings(authority) | {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{issuer.file}",
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "us",
    }


async def bearer(broker: Broker, token: str, wanted: str = "") -> tuple[int, bytes, int]:
    """Error, answer and session lifetime of a login with a token."""
    async with await connect(broker) as client:
        await handshake(client, "OAUTHBEARER")
        authzid = f"a={wanted}" if wanted else ""
        answer = await authenticate(client, f"n,{authzid},\x01auth=Bearer {token}\x01\x01".encode())
        if answer.auth_bytes:
            answer = await authenticate(client, b"\x01")
        return answer.error_code, bytes(answer.auth_bytes), answer.session_lifetime_ms


def unsigned(claims: dict[str, object], algorithm: str = "none") -> str:
    header, body = (encoded(json.dumps(part).encode()) for part in ({"alg": algorithm, "kid": "1"}, claims))
    return f"{header}.{body}."


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


async def test_cve_2026_33557_and_2026_110985_no_token_is_taken_unverified(
    tmp_path: Path, authority: Authority
) -> None:
    issuer = Issuer(tmp_path)
    (tmp_path / "other").mkdir()
    stranger = Issuer(tmp_path / "other")
    now = int(time.time())
    good = {"sub": "carol", "iat": now, "exp": now + 60, "aud": "kafka", "iss": "us"}
    modulus = issuer.file.read_bytes()
    bad = {
        "no signature": unsigned(good),
        "no signature, RS256": unsigned(good, "RS256"),
        "a stranger's": stranger.token(),
        "an unknown key": issuer.token(kid="2"),
        "the public key as a password": jwt.encode(good, hashlib.sha256(modulus).digest(), "HS256", {"kid": "1"}),
        "another audience": issuer.token(aud="other"),
        "no audience": issuer.token(aud=None),
        "another issuer": issuer.token(iss="other"),
        "expired": issuer.token(exp=now - 3600),
        "no end": issuer.token(exp=None),
        "not yet": issuer.token(nbf=now + 3600),
        "issued tomorrow": issuer.token(iat=now + 86_400),
        "nobody": issuer.token(sub=None),
        "an empty user": issuer.token(sub=" "),
        "half a character": issuer.token(sub="carol\ud800"),
        "depths without end": f"{encoded(b'[' * 40_000)}.e30.AA",
        "changed": issuer.token()[:-4] + "AAAA",
        "no token": "x",
    }
    async with secure_broker(tmp_path / "data", oauth_settings(authority, issuer)) as broker:
        code, _, lifetime_ms = await bearer(broker, issuer.token())
        assert (code, 0 < lifetime_ms <= 60_000) == (0, True)
        results = {why: (await bearer(broker, token))[0] for why, token in bad.items()}
        assert results == dict.fromkeys(bad, ErrorCode.SASL_AUTHENTICATION_FAILED)
        assert (await bearer(broker, issuer.token(), "root"))[0] == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_cve_2026_33557_without_a_key_it_refuses_to_start(tmp_path: Path, authority: Authority) -> None:
    settings = oauth_settings(authority, Issuer(tmp_path))
    del settings["sasl.oauthbearer.jwks.endpoint.url"]
    with pytest.raises(ConfigError, match="without a key no token can be checked"):
        load(overrides=[f"{key}={text}" for key, text in settings.items()])
    settings["sasl.oauthbearer.jwks.endpoint.url"] = "https://issuer.example/keys"
    with pytest.raises(ConfigError, match="file:///PATH"):
        load(overrides=[f"{key}={text}" for key, text in settings.items()])


async def test_the_unsecured_mode_says_so_at_every_start(
    tmp_path: Path, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    settings = oauth_settings(authority, Issuer(tmp_path)) | {"stepdown.oauthbearer.unsecured": "true"}
    del settings["sasl.oauthbearer.jwks.endpoint.url"]
    now = int(time.time())
    async with secure_broker(tmp_path / "data", settings) as broker:
        assert "anybody may be any user" in caplog.text
        assert (await bearer(broker, unsigned({"sub": "carol", "exp": now + 60})))[0] == 0
        assert (await bearer(broker, unsigned({"sub": "carol", "exp": now - 60})))[0] != 0


async def test_cve_2025_27817_the_keys_of_the_issuer_cannot_be_moved_over_the_wire(
    tmp_path: Path, authority: Authority
) -> None:
    """A URL that a client chose was read, and what stood there shown in the error."""
    async with secure_broker(tmp_path / "data", oauth_settings(authority, Issuer(tmp_path))) as broker:
        for prefix in ("", "listener.name.sasl_plaintext.oauthbearer."):
            code = await alter(broker, prefix + "sasl.oauthbearer.jwks.endpoint.url", "file:///etc/passwd")
            assert code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("module", ["com.sun.security.auth.module.JndiLoginModule", "LdapLoginModule", "os.system"])
async def test_cve_2023_25194_and_2025_27818_no_class_is_loaded_by_a_setting(broker: Broker, module: str) -> None:
    key = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
    code = await alter(broker, key, f'{module} required user.provider.url="ldap://127.0.0.1/x";')
    assert code == ErrorCode.INVALID_REQUEST


async def alter(broker: Broker, key: str, value: str) -> int:
    resource = AlterConfigsResource(
        resource_type=BROKER_RESOURCE,
        resource_name=str(broker.cluster.node_id),
        configs=(AlterableConfig(name=key, config_operation=0, value=value),),
    )
    async with await connect(broker, "PLAINTEXT") as client:
        answer = await client.send(IncrementalAlterConfigsRequest(resources=(resource,)), 1)
    return int(answer.responses[0].error_code)


async def test_secrets_are_in_no_log_metric_error_or_described_setting(
    broker: Broker, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    """Among others CVE-2019-12399."""
    caplog.set_level("DEBUG")
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        for password in (PASSWORD, "not the secret"):
            async with await connect(broker) as client:
                await log_in(client, mechanism, password=password)
    resource = DescribeConfigsResource(resource_type=BROKER_RESOURCE, resource_name=str(broker.cluster.node_id))
    async with await connect(broker, "PLAINTEXT") as client:
        described = await client.send(DescribeConfigsRequest(resources=(resource,), include_synonyms=True), 4)
    shown = caplog.text + repr(described) + repr(broker.settings) + repr(broker.metrics.instruments.__dict__)
    assert PASSWORD not in shown
    assert "not the secret" not in shown
    assert "PRIVATE KEY" not in shown


LARGE_COUNTS = {
    "int32": struct.pack(">i", (1 << 31) - 1),
    "compact": b"\xff\xff\xff\xff\x07",
    "a thousand and compact": b"\xe9\x07",
}


@pytest.mark.parametrize("count", LARGE_COUNTS)
def test_cve_2026_111108_and_2026_111115_memory_is_for_what_came_and_not_for_what_was_announced(count: str) -> None:
    """A list was made, or a field kept, for each of the elements that a request of some bytes said it had."""
    tracemalloc.start()
    try:
        for key, served in SERVED.items():
            for version in range(served.first, served.last + 1):
                for before in range(12):
                    body = memoryview(bytes(before) + LARGE_COUNTS[count] * 20)
                    tracemalloc.reset_peak()
                    held, _ = tracemalloc.get_traced_memory()
                    with suppress(MalformedFrame):
                        decode(API[key].request, version, body)
                    assert tracemalloc.get_traced_memory()[1] - held < 1 << 20, (key, version, before)
    finally:
        tracemalloc.stop()


def test_cve_2026_111073_no_metrics_of_clients_are_taken_that_would_have_to_be_opened() -> None:
    assert not {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY} & SERVED.keys()


@pytest.mark.parametrize("text", ["${env:HOME}", "${file:/etc/passwd:root}", "${directory:/etc:hostname}"])
def test_cve_2024_31141_a_setting_reads_no_file_and_no_environment(text: str) -> None:
    assert load(overrides=[f"broker.rack={text}"]).settings.broker_rack == text
