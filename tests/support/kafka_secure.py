"""Apache Kafka with a listener for each way to be secure, beside the plain one."""

from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from stepdown.bench.servers.ports import free_port

from .certificates import Authority
from .deadline import DEADLINE_S
from .kafka import ApacheKafka

USER, PASSWORD = "alice", "s3cret,=\u00e4"
LISTENERS = {"SSL": "SSL", "MTLS": "SSL", "SASL_PLAINTEXT": "SASL_PLAINTEXT", "SASL_SSL": "SASL_SSL"}
ITERATIONS = 4096
_LOGIN = "org.apache.kafka.common.security"


class SecureKafka(ApacheKafka):
    """`addresses`: listener to address. MTLS wants a certificate of the client too."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        super().__init__(folder)
        self.addresses = {name: f"127.0.0.1:{free_port()}" for name in LISTENERS}
        self._authority = authority
        self._own = authority.issue("broker")

    def _settings(self) -> dict[str, str]:
        settings = super()._settings()
        more = "".join(f",{name}://{address}" for name, address in self.addresses.items())
        settings["listeners"] += more
        settings["advertised.listeners"] += more
        protocols = "".join(f",{name}:{protocol}" for name, protocol in LISTENERS.items())
        settings["listener.security.protocol.map"] += protocols
        settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._own),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.file),
            "listener.name.mtls.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        }
        for listener in ("sasl_plaintext", "sasl_ssl"):
            prefix = f"listener.name.{listener}"
            plain = f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
            # A properties file is in Latin-1, with escapes.
            # Without more it takes tokens that nobody signed (RFC 7515, alg none).
            bearer = f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=kafka;"
            settings[f"{prefix}.oauthbearer.sasl.jaas.config"] = bearer
            settings[f"{prefix}.plain.sasl.jaas.config"] = plain.replace("\u00e4", "\\u00e4")
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                settings[f"{prefix}.{mechanism}.sasl.jaas.config"] = f"{_LOGIN}.scram.ScramLoginModule required;"
        return settings

    def start(self) -> None:
        super().start()
        admin = AdminClient({"bootstrap.servers": self.address})
        changes = [
            UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, ITERATIONS), PASSWORD.encode())
            for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
        ]
        for change in changes:
            admin.alter_user_scram_credentials([change])[USER].result(DEADLINE_S)
