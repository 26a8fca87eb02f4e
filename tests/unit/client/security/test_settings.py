"""Who the producer says it is: settings of TLS and SASL, SCRAM against another implementation, logins step by step."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from scramp import ScramException, ScramMechanism
from stepdown.client.security.scram_client import ScramClient, ScramFailed
from stepdown.client.security.settings import SaslSettings
from stepdown.config import ConfigError
from stepdown.producer import AuthenticationFailed, Producer
from stepdown.producer.network.connection import Connection
from stepdown.producer.network.login import Login
from stepdown.producer.sender.network_interface import NetworkAnswer
from stepdown.producer.settings import producer_settings
from stepdown.protocol.api import ApiKey
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeResponse
from support.certificates import Authority
from support.producing import producing

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}
SASL: dict[str, Any] = SERVERS | {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256"}


def test_the_scram_of_rfc_7677_comes_out() -> None:
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert client.first_message() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    final = client.final_message(
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert final.endswith(b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    client.verify_server(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(ScramFailed, match="signature"):
        client.verify_server(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl96G4=")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize(("password", "right"), [("a,b=c", True), ("other", False)])
def test_another_scram_server_believes_it(mechanism: str, password: str, right: bool) -> None:
    known = ScramMechanism(mechanism)
    stored = known.make_auth_info("a,b=c", iteration_count=4096)
    server = known.make_server(lambda name: stored if name == "us=er," else None)
    client = ScramClient(mechanism, "us=er,", password)
    server.set_client_first(client.first_message().decode())
    final = client.final_message(server.get_server_first().encode()).decode()
    if right:
        server.set_client_final(final)
        client.verify_server(server.get_server_final().encode())
    else:
        with pytest.raises(ScramException):
            server.set_client_final(final)


def test_a_password_is_not_prepared() -> None:
    # SASLprep would make a space of it, and Kafka's brokers have stored it as it is.
    finals = [
        ScramClient("SCRAM-SHA-256", "u", password, "n").final_message(b"r=nm,s=c2FsdA==,i=4096")
        for password in ("a\u00a0b", "a b")
    ]
    assert finals[0] != finals[1]


@pytest.mark.parametrize(
    "server_first",
    [
        b"r=other,s=c2FsdA==,i=4096",
        b"r=n,s=c2FsdA==,i=4096",
        b"r=nm,s=?,i=4096",
        b"r=nm,s=c2FsdA==,i=10",
        b"r=nm,s=c2FsdA==,i=99999999999",
        b"r=nm,s=c2FsdA==,i=-4096",
        b"\xff",
        b"",
    ],
)
def test_a_server_that_breaks_the_protocol_gets_no_proof(server_first: bytes) -> None:
    with pytest.raises(ScramFailed):
        ScramClient("SCRAM-SHA-256", "u", "p", "n").final_message(server_first)


class Carrier:
    """Answers a login's requests in turn, or its bare tokens."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[str, int, Any]] = []

    def send(
        self, key: ApiKey, version: int, request: Any, done: Callable[[NetworkAnswer], None], *, answered: bool
    ) -> None:
        self.sent.append((key.name, version, request))
        if self.answers:
            done(NetworkAnswer(response=self.answers.pop(0)))

    def send_bare(self, token: bytes, done: Callable[[bytes], None]) -> None:
        self.sent.append(("bare", 0, token))
        if self.answers:
            done(self.answers.pop(0))


OK = SaslHandshakeResponse(mechanisms=("PLAIN",))
SPOKEN = {int(ApiKey.SASL_HANDSHAKE): (0, 1), int(ApiKey.SASL_AUTHENTICATE): (0, 2)}


def login(carrier: Carrier, spoken: dict[int, tuple[int, int]] | None = None) -> list[Any]:
    ends: list[Any] = []
    sasl = SaslSettings(mechanism="PLAIN", username="alice", password="secret")
    Login(sasl, carrier, lambda fault, lifetime: ends.append((fault, lifetime))).start(
        SPOKEN if spoken is None else spoken
    )
    return ends


def test_plain_is_one_token_and_the_answer_may_limit_the_session() -> None:
    carrier = Carrier(OK, SaslAuthenticateResponse(auth_bytes=b"", session_lifetime_ms=60_000))
    assert login(carrier) == [(None, 60_000)]
    assert [(name, version) for name, version, _ in carrier.sent] == [("SASL_HANDSHAKE", 1), ("SASL_AUTHENTICATE", 2)]
    assert carrier.sent[1][2].auth_bytes == b"\0alice\0secret"


def test_an_old_broker_gets_bare_tokens() -> None:
    carrier = Carrier(OK, b"")
    assert login(carrier, {int(ApiKey.SASL_HANDSHAKE): (0, 0)}) == [(None, 0)]
    assert carrier.sent[1] == ("bare", 0, b"\0alice\0secret")


def test_each_way_to_fail_says_why() -> None:
    refused = SaslAuthenticateResponse(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="bad password")
    unknown = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=("GSSAPI",))
    late = SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    found = [login(Carrier(OK, refused)), login(Carrier(unknown)), login(Carrier(late)), login(Carrier(), {})]
    texts = [str(ends[0][0]) for ends in found]
    for text, why in zip(texts, ("bad password", "but GSSAPI", "ILLEGAL_SASL_STATE", "no SASL"), strict=True):
        assert text.startswith("alice by PLAIN was not logged in") and why in text
        assert "secret" not in text


def test_kafkas_jaas_line_is_understood() -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    line = f'{module} required username="al\\"ice"  password=\'p;=w\' tokenauth=false;'
    sasl = producer_settings(SASL | {"sasl.jaas.config": line}).security.sasl
    assert sasl == SaslSettings(mechanism="SCRAM-SHA-256", username='al"ice', password="p;=w")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"sasl.username": "alice"},
        {"sasl.jaas.config": 'PlainLoginModule required username="a" password="b";'},
        {"sasl.jaas.config": 'ScramLoginModule required username="a";'},
        {"sasl.jaas.config": "nonsense"},
    ],
    ids=str,
)
def test_a_login_without_user_and_password_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config"):
        producer_settings(SASL | more)


@pytest.mark.parametrize(
    "more",
    [
        {"ssl.truststore.type": "JKS"},
        {"ssl.truststore.location": "a", "ssl.truststore.certificates": "b"},
        {"ssl.keystore.key": "k"},
        {"ssl.enabled.protocols": "SSLv3"},
        {"ssl.endpoint.identification.algorithm": "maybe"},
        {"security.protocol": "TLS"},
    ],
    ids=str,
)
def test_what_tls_cannot_be_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        producer_settings(SERVERS | {"security.protocol": "SSL"} | more)


def test_passwords_are_not_shown() -> None:
    settings = producer_settings(SASL | {"sasl.username": "alice", "sasl.password": "h1dden"})
    assert "h1dden" not in repr(settings) and "alice" in repr(settings)


async def test_a_file_without_certificates_is_refused_at_the_start(tmp_path: Path) -> None:
    for settings in ({"ssl.truststore.location": str(tmp_path / "no.pem")}, {"ssl.truststore.certificates": "x"}):
        with pytest.raises(ConfigError, match=r"ssl\.truststore"):
            await Producer("127.0.0.1:1", **{"security.protocol": "SSL"} | settings).start()  # type: ignore[arg-type]


async def test_a_login_that_fails_ends_every_record_now_and_later() -> None:
    async with producing(linger_ms=1000) as stage:
        lingering = stage.producer.send("t", b"v")
        stage.cluster.fault = AuthenticationFailed("no")
        waiting = stage.producer.send("unknown", b"v")
        stage.producer._wakeup.schedule_pass()
        await stage.advance()
        later = stage.producer.send("t", b"v")
        await stage.advance()
        for delivery in (lingering, waiting, later):
            with pytest.raises(AuthenticationFailed):
                await delivery


async def test_a_connection_whose_login_ends_takes_no_more_requests() -> None:
    now = [1000]
    connection = Connection("c", lambda: now[0], lambda: None)
    connection._end_login(None, 10_000)
    assert connection.can_send
    now[0] += 8500
    assert not connection.can_send


@asynccontextmanager
async def tls_server(certificate: Path) -> AsyncIterator[int]:

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_certificate_of_a_stranger_ends_every_record(tmp_path: Path) -> None:
    trusted, stranger = Authority(tmp_path, "trusted"), Authority(tmp_path, "stranger")
    settings: dict[str, Any] = {"security.protocol": "SSL", "ssl.truststore.location": str(trusted.file)}
    async with (
        tls_server(stranger.issue("server")) as port,
        Producer(f"127.0.0.1:{port}", **settings) as producer,
    ):
        with pytest.raises(AuthenticationFailed, match="TLS could not be agreed on"):
            await producer.send("t", b"v")
