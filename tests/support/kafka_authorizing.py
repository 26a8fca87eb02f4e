"""Kafka with StandardAuthorizer: clients of its plain listener are User:ANONYMOUS, `admin` has a listener with SASL."""

from collections.abc import Mapping
from pathlib import Path

from stepdown.bench.servers.ports import free_port
from stepdown.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from stepdown.protocol.messages.sasl_handshake import SaslHandshakeRequest

from .client import RawClient
from .kafka import ApacheKafka

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ADMIN, PASSWORD = "admin", "secret"
_LOGIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="{ADMIN}" password="{PASSWORD}" user_{ADMIN}="{PASSWORD}";'
)


class AuthorizingKafka(ApacheKafka):
    """`admin_address` is for the super user, whose connections `admin()` makes."""

    def __init__(self, folder: Path, *, properties: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, properties=properties)
        self.admin_address = f"127.0.0.1:{free_port()}"

    def _settings(self) -> dict[str, str]:
        settings = super()._settings()
        settings["listeners"] += f",ADMIN://{self.admin_address}"
        settings["advertised.listeners"] += f",ADMIN://{self.admin_address}"
        return settings | {
            "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT,ADMIN:SASL_PLAINTEXT",
            "inter.broker.listener.name": "ADMIN",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.admin.plain.sasl.jaas.config": _LOGIN,
            "listener.name.controller.plain.sasl.jaas.config": _LOGIN,
            "authorizer.class.name": AUTHORIZER,
            "super.users": f"User:{ADMIN}",
        }

    async def admin(self) -> RawClient:
        """A connection of the super user."""
        host, _, port = self.admin_address.rpartition(":")
        client = await RawClient.connect(host, int(port))
        await client.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        answer = await client.send(SaslAuthenticateRequest(auth_bytes=f"\0{ADMIN}\0{PASSWORD}".encode()), 2)
        assert answer.error_code == 0, answer.error_message
        return client
