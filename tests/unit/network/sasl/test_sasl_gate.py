"""Logging in over the wire: both handshakes, states that are no login, sessions that expire."""

import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from stepdown.broker.broker import Broker
from stepdown.client.security.scram_client import ScramClient
from stepdown.protocol.errors import ErrorCode
from stepdown.protocol.messages.api_versions import ApiVersionsRequest
from stepdown.protocol.messages.metadata import MetadataRequest
from support.certificates import Authority
from support.client import RawClient
from support.sasl_client import authenticate, bare, handshake, log_in, plain_token
from support.secure import PASSWORD, USER, secure_broker, secure_settings, set_password

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ALL_TOPICS = MetadataRequest(topics=None)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    return secure_settings(Authority(tmp_path))


@pytest.fixture
async def broker(tmp_path: Path, settings: dict[str, str]) -> AsyncIterator[Broker]:
    async with secure_broker(tmp_path / "data", settings) as broker:
        yield broker


async def connect(broker: Broker) -> RawClient:
    return await RawClient.connect("127.0.0.1", broker.addresses["SASL_PLAINTEXT"].port)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_after_handshake_v1_tokens_travel_in_requests(broker: Broker, mechanism: str) -> None:
    async with await connect(broker) as client:
        versions = await client.send(ApiVersionsRequest(client_software_name="test", client_software_version="1"), 3)
        assert versions.error_code == 0
        assert (await log_in(client, mechanism)).error_code == ErrorCode.NONE
        assert (await client.send(ALL_TOPICS, 9)).brokers[0].port == broker.addresses["SASL_PLAINTEXT"].port


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_after_handshake_v0_tokens_are_bare(broker: Broker, mechanism: str) -> None:
    """Clients of 0.10 and 0.11."""
    async with await connect(broker) as client:
        assert set((await handshake(client, mechanism, version=0)).mechanisms) == set(MECHANISMS)
        if mechanism == "PLAIN":
            assert await bare(client, plain_token()) == b""
        else:
            scram = ScramClient(mechanism, USER, PASSWORD)
            first = await bare(client, scram.first_message())
            assert first is not None
            final = await bare(client, scram.final_message(first))
            assert final is not None
            scram.verify_server(final)
        assert (await client.send(ALL_TOPICS, 1)).brokers


async def test_a_bare_token_that_is_wrong_just_hangs_up(broker: Broker) -> None:
    async with await connect(broker) as client:
        await handshake(client, "PLAIN", version=0)
        assert await bare(client, plain_token(password="wrong")) is None


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("user", "password"), [(USER, "wrong"), ("nobody", PASSWORD)], ids=["password", "user"])
async def test_a_wrong_login_is_told_nothing_more_and_hung_up_on(
    broker: Broker, mechanism: str, user: str, password: str
) -> None:
    async with await connect(broker) as client:
        answer = await log_in(client, mechanism, user, password)
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert user not in answer.error_message
        assert answer.error_message in (
            "Authentication failed: Invalid username or password",
            f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}",
        )
        assert await client.read_frame() is None
    assert broker.metrics.failed_authentications.of("SASL_PLAINTEXT", mechanism).value == 1


async def test_the_answer_to_a_wrong_login_is_held_back(tmp_path: Path, settings: dict[str, str]) -> None:
    settings["connection.failed.authentication.delay.ms"] = "300"
    async with secure_broker(tmp_path / "data", settings) as broker, await connect(broker) as client:
        waited: list[float] = []
        sleep = broker.clock.sleep

        async def noted(delay_ms: float) -> None:
            waited.append(delay_ms)
            await sleep(0)

        broker.clock.sleep = noted  # type: ignore[method-assign]
        assert (await log_in(client, password="wrong")).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert waited == [300]


async def test_a_mechanism_that_is_not_there_is_answered_with_those_that_are(broker: Broker) -> None:
    async with await connect(broker) as client:
        answer = await handshake(client, "GSSAPI")
        assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert set(answer.mechanisms) == set(MECHANISMS)
        assert await client.read_frame() is None


async def test_nothing_else_is_answered_before_the_login(broker: Broker) -> None:
    async with await connect(broker) as client:
        await client.begin(ALL_TOPICS, 9)
        assert await client.read_frame() is None
    async with await connect(broker) as client:
        await handshake(client, "PLAIN")
        await client.begin(ALL_TOPICS, 9)
        assert await client.read_frame() is None
    async with await connect(broker) as client:  # a token of Kerberos, as clients of 0.9 begin with
        assert await bare(client, b"\x60\x82\x02\x00kerberos") is None


async def test_a_client_without_a_login_is_named_with_what_is_wrong(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """Its line had no name, METADATA in capitals, and no word on the security protocol."""
    async with await connect(broker) as client:
        await client.begin(ALL_TOPICS, 9)
        assert await client.read_frame() is None
        name = client.client_id
    assert f"(client {name!r}): Metadata before the login is done: the client speaks PLAINTEXT or SSL" in caplog.text


async def test_a_second_login_is_refused_where_sessions_have_no_end(broker: Broker) -> None:
    async with await connect(broker) as client:
        await log_in(client)
        assert (await handshake(client, "PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await authenticate(client, plain_token())).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert (await client.send(ALL_TOPICS, 9)).brokers


async def test_where_nobody_logs_in_a_handshake_is_refused(broker: Broker) -> None:
    async with await RawClient.connect("127.0.0.1", broker.address.port) as client:
        assert (await handshake(client, "PLAIN")).error_code == ErrorCode.ILLEGAL_SASL_STATE


class Hours:
    """A broker's clock, put forward by hand."""

    def __init__(self, broker: Broker) -> None:
        self.ahead_ms = 0
        elapsed_ms = broker.clock.monotonic_ms
        broker.clock.monotonic_ms = lambda: elapsed_ms() + self.ahead_ms  # type: ignore[method-assign]


async def test_a_session_may_be_renewed_and_ends_if_it_is_not(tmp_path: Path, settings: dict[str, str]) -> None:
    """KIP-368."""
    settings["listener.name.sasl_plaintext.scram-sha-256.connections.max.reauth.ms"] = "60000"
    async with secure_broker(tmp_path / "data", settings) as broker, await connect(broker) as client:
        hours = Hours(broker)
        assert (await log_in(client, "SCRAM-SHA-256")).session_lifetime_ms == 60_000
        hours.ahead_ms += 50_000
        assert (await log_in(client, "SCRAM-SHA-256")).session_lifetime_ms == 60_000
        assert (await handshake(client, "SCRAM-SHA-256")).error_code == ErrorCode.ILLEGAL_SASL_STATE  # within a second
        hours.ahead_ms += 50_000
        assert (await client.send(ALL_TOPICS, 9)).brokers
        hours.ahead_ms += 20_000
        await client.begin(ALL_TOPICS, 9)
        assert await client.read_frame() is None


async def test_a_renewal_may_not_change_who_it_is(tmp_path: Path, settings: dict[str, str]) -> None:
    settings["connections.max.reauth.ms"] = "60000"
    async with secure_broker(tmp_path / "data", settings) as broker:
        await set_password(broker, "bob", "secret")
        async with await connect(broker) as client:
            await log_in(client, "SCRAM-SHA-256")
            answer = await log_in(client, "SCRAM-SHA-256", "bob", "secret")
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert "Cannot change principals" in answer.error_message
            assert await client.read_frame() is None
        async with await connect(broker) as client:
            await log_in(client, "SCRAM-SHA-256")
            answer = await log_in(client, "PLAIN")
            assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert "not supported for re-authentication" in answer.error_message


async def test_who_does_not_log_in_is_hung_up_on(tmp_path: Path, settings: dict[str, str]) -> None:
    settings["stepdown.authentication.timeout.ms"] = "50"
    async with secure_broker(tmp_path / "data", settings) as broker:
        for listener in ("SASL_PLAINTEXT", "SASL_SSL", "SSL"):
            client = await RawClient.connect("127.0.0.1", broker.addresses[listener].port)
            async with client:
                assert await client.read_frame() is None
        assert broker.metrics.failed_authentications.of("SSL", "").value == 1


async def test_a_request_before_the_login_is_small(broker: Broker) -> None:
    async with await connect(broker) as client:
        await client.send_raw(struct.pack(">i", 524_289))
        assert await client.read_frame() is None


def alter(broker: Broker, **settings: str) -> None:
    """The broker's own settings, by Kafka's names with `_` for `.` and `__` for `_`."""
    texts = {name.replace("__", "-").replace("_", ".").replace("-", "_"): text for name, text in settings.items()}
    broker.topics.configuration.replace_broker_settings(texts, of_cluster=False)


async def test_users_and_mechanisms_that_change_are_in_force_for_the_next_login(broker: Broker) -> None:
    """A user that was taken out of sasl.jaas.config went on logging in until the broker was started again."""
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="new";'
    async with await connect(broker) as before, await connect(broker) as after:
        assert (await log_in(before)).error_code == ErrorCode.NONE
        alter(broker, listener_name_sasl__plaintext_plain_sasl_jaas_config=jaas)
        assert (await log_in(after)).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    async with await connect(broker) as client:
        assert (await log_in(client, "PLAIN", "bob", "new")).error_code == ErrorCode.NONE
    alter(broker, listener_name_sasl__plaintext_sasl_enabled_mechanisms="SCRAM-SHA-512")
    async with await connect(broker) as client:
        answer = await handshake(client, "PLAIN")
        assert (answer.error_code, tuple(answer.mechanisms)) == (
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            ("SCRAM-SHA-512",),
        )
