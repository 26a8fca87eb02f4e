"""Our producer before Apache Kafka's TLS and SASL listeners: it gets in with what is right, and says what is wrong."""

import asyncio
import base64
import json
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop
from stepdown.producer import AuthenticationFailed, Producer
from stepdown.protocol.errors import ErrorCode
from support.certificates import Authority
from support.clients import Span
from support.clients_python import AIOKAFKA
from support.kafka_secure import PASSWORD, USER, SecureKafka

pytestmark = pytest.mark.java
TOPIC = "secure"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LOGIN_MODULES = {"PLAIN": "plain.PlainLoginModule"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def kafka(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with SecureKafka(tmp_path_factory.mktemp("kafka"), authority) as kafka:
        kafka.create_topic(TOPIC)
        yield kafka


def login(protocol: str, mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    module = f"org.apache.kafka.common.security.{LOGIN_MODULES.get(mechanism, 'scram.ScramLoginModule')}"
    return {
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{module} required username="{USER}" password="{password}";',
    }


async def send_one(address: str, value: bytes, **settings: str) -> int:
    async with Producer(address, max_block_ms=120_000, **settings) as producer:  # type: ignore[arg-type]
        return (await producer.send(TOPIC, value, partition=0)).offset


async def check_written(kafka: SecureKafka, offset: int, value: bytes) -> None:
    spans = [Span(topic=TOPIC, offset=offset, count=1)]
    [record] = await asyncio.to_thread(AIOKAFKA.consume, kafka.address, "check", spans)
    assert record.message.value == value


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_a_right_password_gets_in(
    kafka: SecureKafka, authority: Authority, protocol: str, mechanism: str
) -> None:
    settings = login(protocol, mechanism) | {"ssl.truststore.location": str(authority.file)}
    value = f"{protocol} {mechanism}".encode()
    offset = await send_one(kafka.addresses[protocol], value, **settings)
    await check_written(kafka, offset, value)


def token(**claims: object) -> str:
    """A token that nobody signed."""
    parts = ({"alg": "none"}, {"sub": USER, "iat": int(time.time())} | claims)
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


async def test_a_token_that_the_application_gives_gets_in_and_a_bad_one_does_not(
    kafka: SecureKafka, authority: Authority
) -> None:
    async def good() -> str:
        return token(exp=int(time.time()) + 3600)

    context = ssl.create_default_context(cafile=str(authority.file))
    for protocol, extra in (("SASL_PLAINTEXT", {}), ("SASL_SSL", {"ssl_context": context})):
        settings = {"security_protocol": protocol, "sasl_mechanism": "OAUTHBEARER", "token_provider": good} | extra
        value = f"token over {protocol}".encode()
        await check_written(kafka, await send_one(kafka.addresses[protocol], value, **settings), value)  # type: ignore[arg-type]
    late = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER"}
    for provider, reason in ((lambda: token(exp=1), "OAUTHBEARER was not logged in"), (lambda: 5, "not a str")):
        async with Producer(kafka.addresses["SASL_PLAINTEXT"], token_provider=provider, **late) as producer:  # type: ignore[arg-type]
            with pytest.raises(AuthenticationFailed, match=reason):
                await producer.send(TOPIC, b"v")


async def test_a_context_of_the_applications_own_is_used(kafka: SecureKafka, authority: Authority) -> None:
    context = ssl.create_default_context(cafile=str(authority.file))
    offset = await send_one(kafka.addresses["SSL"], b"context", security_protocol="SSL", ssl_context=context)  # type: ignore[arg-type]
    await check_written(kafka, offset, b"context")


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_a_wrong_password_fails_at_once_and_for_good(kafka: SecureKafka, mechanism: str) -> None:
    settings = login("SASL_PLAINTEXT", mechanism, "wrong")
    async with Producer(kafka.addresses["SASL_PLAINTEXT"], **settings) as producer:  # type: ignore[arg-type]
        with pytest.raises(AuthenticationFailed, match=f"{USER} by {mechanism}") as caught:
            await producer.send(TOPIC, b"v")
        assert caught.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
        with pytest.raises(AuthenticationFailed):
            await producer.send(TOPIC, b"v")


async def test_a_transactional_producer_hears_of_a_wrong_password_too(kafka: SecureKafka) -> None:
    settings = login("SASL_PLAINTEXT", "PLAIN", "wrong")
    address = kafka.addresses["SASL_PLAINTEXT"]
    async with Producer(address, transactional_id="secure", **settings) as producer:  # type: ignore[arg-type]
        with pytest.raises(AuthenticationFailed):
            await producer.init_transactions()


async def test_tls_checks_who_answers(kafka: SecureKafka, authority: Authority) -> None:
    settings = {"security.protocol": "SSL", "ssl.truststore.location": str(authority.file)}
    await check_written(kafka, await send_one(kafka.addresses["SSL"], b"file", **settings), b"file")
    inline = {"security.protocol": "SSL", "ssl.truststore.certificates": authority.file.read_text()}
    await check_written(kafka, await send_one(kafka.addresses["SSL"], b"text", **inline), b"text")


async def test_a_certificate_of_a_stranger_fails_at_once(kafka: SecureKafka, tmp_path: Path) -> None:
    stranger = Authority(tmp_path, "stranger")
    with pytest.raises(AuthenticationFailed, match="certificate"):
        await send_one(
            kafka.addresses["SSL"], b"v", **{"security.protocol": "SSL", "ssl.truststore.location": str(stranger.file)}
        )


async def test_a_name_that_the_certificate_has_not_fails_unless_nobody_checks(
    kafka: SecureKafka, authority: Authority
) -> None:
    address = kafka.addresses["SSL"].replace("127.0.0.1", "localhost")
    settings = {"security.protocol": "SSL", "ssl.truststore.location": str(authority.file)}
    with pytest.raises(AuthenticationFailed, match="localhost"):
        await send_one(address, b"v", **settings)
    assert await send_one(address, b"v", **settings, **{"ssl.endpoint.identification.algorithm": ""}) >= 0


async def test_a_client_shows_its_own_certificate(kafka: SecureKafka, authority: Authority) -> None:
    own = authority.issue("client", "client.test")
    settings = {"security.protocol": "SSL", "ssl.truststore.location": str(authority.file)}
    with pytest.raises(AuthenticationFailed):
        await send_one(kafka.addresses["MTLS"], b"v", **settings)
    value = b"own certificate"
    offset = await send_one(kafka.addresses["MTLS"], value, **settings, **{"ssl.keystore.location": str(own)})
    await check_written(kafka, offset, value)
    key, chain = own.read_text().split("-----BEGIN CERTIFICATE-----", 1)
    inline = {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": "-----BEGIN CERTIFICATE-----" + chain}
    assert await send_one(kafka.addresses["MTLS"], b"inline", **settings, **inline) > offset


async def test_a_transaction_goes_over_tls_and_scram(kafka: SecureKafka, authority: Authority) -> None:
    settings = login("SASL_SSL", "SCRAM-SHA-512") | {"ssl.truststore.location": str(authority.file)}
    address = kafka.addresses["SASL_SSL"]
    async with Producer(address, transactional_id="over-tls", compression="zstd", **settings) as producer:  # type: ignore[arg-type]
        await producer.init_transactions()
        async with producer.transaction():
            deliveries = [producer.send(TOPIC, b"x" * 5000, partition=0) for _ in range(500)]
        assert all(delivery.metadata().offset >= 0 for delivery in deliveries)


async def test_uvloop_carries_it_too(kafka: SecureKafka, authority: Authority) -> None:
    settings = login("SASL_SSL", "SCRAM-SHA-256") | {"ssl.truststore.location": str(authority.file)}
    value = b"uvloop"
    offset = await asyncio.to_thread(uvloop.run, send_one(kafka.addresses["SASL_SSL"], value, **settings))
    await check_written(kafka, offset, value)
    wrong = settings | {"ssl.truststore.location": str(Authority(authority.file.parent, "another").file)}
    with pytest.raises(AuthenticationFailed, match="certificate"):
        await asyncio.to_thread(uvloop.run, send_one(kafka.addresses["SASL_SSL"], value, **wrong))
