"""A listener with TLS beside the plain one; only the load that is measured goes through it."""

from dataclasses import dataclass
from pathlib import Path

from .ports import free_port
from .virtual_network import Network

NAME = "SSL"
AUTHORITY, SERVER = "authority.pem", "server.pem"


@dataclass(frozen=True, slots=True)
class TlsListener:
    """`certificates`: a folder with the authority's certificate and the server's key and certificate."""

    address: str
    certificates: Path

    @property
    def authority(self) -> str:
        """The file that loads trust."""
        return str(self.certificates / AUTHORITY)

    @property
    def listener(self) -> str:
        """The entry of the setting `listeners`."""
        return f"{NAME}://{self.address}"

    @property
    def settings(self) -> dict[str, str]:
        """The settings except `listeners`, by names that stepdown and Kafka share."""
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.certificates / SERVER)}


def tls_listener(certificates: str, network: Network) -> TlsListener | None:
    """On a free port, where there are certificates."""
    return TlsListener(f"{network.host}:{free_port()}", Path(certificates)) if certificates else None
