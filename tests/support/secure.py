"""A broker in the test's process with a listener for each way to be secure, and the certificates for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stepdown.broker.broker import Broker
from stepdown.config import load
from stepdown.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from stepdown.protocol.scram import SCRAM_MECHANISMS, salt_password

from .certificates import Authority
from .client import RawClient

USER, PASSWORD = "alice", "s3cret,=\u00e4"
LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MTLS": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
}
ITERATIONS = 4096
SALT = b"salt of a test"
SWAP = {
    "authentication": "swap",
    "upstream_security_protocol": "SASL_PLAINTEXT",
    "upstream_sasl_mechanism": "SCRAM-SHA-256",
    "upstream_sasl_username": USER,
    "upstream_sasl_password": PASSWORD,
}
"""Settings of a gateway that has one login for all of its clients."""


def secure_settings(authority: Authority, **more: str) -> dict[str, str]:
    """Settings by Kafka's names."""
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
        "ssl.keystore.location": str(authority.issue("broker")),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(authority.file),
        "ssl.truststore.type": "PEM",
        "listener.name.mtls.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas,
        "listener.name.sasl_ssl.plain.sasl.jaas.config": jaas,
        "connection.failed.authentication.delay.ms": "0",
    } | {key.replace("__", "-").replace("_", "."): value for key, value in more.items()}


@asynccontextmanager
async def secure_broker(directory: Path, settings: dict[str, str]) -> AsyncIterator[Broker]:
    """A started broker, `USER` with `PASSWORD` known to both SCRAM mechanisms."""
    texts = {"log.dirs": str(directory), **settings}
    loaded = load(overrides=[f"{key}={value}" for key, value in texts.items()])
    broker = Broker(loaded.settings, loaded.layers)
    await broker.start()
    try:
        await set_password(broker, USER, PASSWORD)
        yield broker
    finally:
        await broker.stop()


async def set_password(broker: Broker, user: str, password: str) -> None:
    port = next(iter(broker.addresses.values())).port
    async with await RawClient.connect("127.0.0.1", port) as client:
        for code, mechanism in SCRAM_MECHANISMS.items():
            upsertion = ScramCredentialUpsertion(
                name=user,
                mechanism=code,
                iterations=ITERATIONS,
                salt=SALT,
                salted_password=salt_password(mechanism, password, SALT, ITERATIONS),
            )
            answer = await client.send(AlterUserScramCredentialsRequest(deletions=(), upsertions=(upsertion,)), 0)
            assert answer.results[0].error_code == 0, answer
