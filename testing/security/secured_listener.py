"""A secured listener of a test's broker: protocol, users, files, and the broker's settings for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
AUTHORITY, SERVER, TRUSTSTORE, PROPERTIES = "authority.pem", "server.pem", "truststore.p12", "client.properties"
FILES = (AUTHORITY, SERVER, TRUSTSTORE, PROPERTIES, "client-*.pem")
"""All that is written for such a listener, by name or pattern."""
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredListener:
    """`folder`: the files of `make_certificates` if the protocol has TLS. `users`: name to password."""

    protocol: str
    folder: Path
    users: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def broker_settings(self) -> dict[str, str]:
        """Returns the settings except `listeners`; SCRAM users are set in the broker itself."""
        texts = {}
        if self.has_tls:
            texts = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.folder / SERVER)}
        if self.has_sasl:
            options = "".join(f' user_{name}="{quote(password)}"' for name, password in self.users.items())
            texts["sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
            texts[f"listener.name.{self.protocol.lower()}.plain.sasl.jaas.config"] = (
                f"{_LOGIN}.plain.PlainLoginModule required{options};"
            )
        return texts

    def java_settings(self, user: str = "", mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """Returns properties of Java clients since 2.7 without `bootstrap.servers`; also for stepdown's own clients."""
        texts = {"security.protocol": self.protocol}
        if self.has_tls:
            texts |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.authority)}
        if self.has_sasl and user:
            module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
            login = f'{_LOGIN}.{module} required username="{quote(user)}" password="{quote(self.users[user])}";'
            texts |= {"sasl.mechanism": mechanism, "sasl.jaas.config": login}
        elif self.has_tls and user:
            own = client_pem(self.folder.resolve(), user)
            texts |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(own)}
        return texts

    @property
    def authority(self) -> Path:
        """The certificate that clients trust."""
        return self.folder.resolve() / AUTHORITY


def check_protocol(protocol: str) -> None:
    """Raises: ValueError."""
    if protocol not in PROTOCOLS:
        meant = protocol.upper().replace("TLS", "SSL").replace("-", "_")
        hint = f"; did you mean {meant}?" if meant in PROTOCOLS else ""
        raise ValueError(f"security is one of {', '.join(PROTOCOLS)}, not {protocol!r}{hint}")


def client_pem(folder: Path, name: str) -> Path:
    """Returns the path of a client's key and certificate."""
    return folder / f"client-{name}.pem"


def quote(text: str) -> str:
    """Escapes a text for quotes in a JAAS configuration."""
    return text.replace("\\", "\\\\").replace('"', '\\"')
