"""Which login to the cluster a client has where the gateway logs in for all: by principal or address.

    logins.billing.clients: [User:billing, 10.1.0.0/16]
    logins.billing.sasl.username: billing

The first login in the settings that names a client is his; who is named by none has the gateway's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from ..client.security.settings import SaslSettings
from ..network.principal import USER_TYPE
from .allow_list import Network

USER = f"{USER_TYPE}:"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamLogin:
    """`principals` as Kafka writes them, such as User:alice."""

    name: str
    sasl: SaslSettings
    principals: frozenset[str]
    networks: tuple[Network, ...]

    def is_for_client(self, principal: str, address: str) -> bool:
        """Whether a client has this login."""
        if principal in self.principals:
            return True
        if not self.networks:
            return False
        ip = ip_address(address.partition("%")[0])
        ip = getattr(ip, "ipv4_mapped", None) or ip
        return any(network.version == ip.version and ip in network for network in self.networks)


def parse_clients(text: str) -> tuple[frozenset[str], tuple[Network, ...]]:
    """Principals and networks, between commas; the name of a certificate (User:CN=a,O=b) has commas of its own.

    Raises: ValueError.
    """
    found: list[str] = []
    for part in text.split(","):
        if found and _continues_name(found[-1], part):
            found[-1] += f",{part}"
        else:
            found.append(part.strip())
    texts = [each.strip() for each in found if each.strip()]
    networks = tuple(ip_network(each) for each in texts if not each.startswith(USER))
    return frozenset(each for each in texts if each.startswith(USER)), networks


def _continues_name(before: str, part: str) -> bool:
    """Whether a part continues the name before it: it is a field of a certificate, or its comma is escaped."""
    is_field = "=" in part and not part.lstrip().startswith(USER)
    return before.startswith(USER) and (is_field or before.endswith("\\"))


def find_login(logins: Sequence[UpstreamLogin], principal: str, address: str) -> UpstreamLogin | None:
    """None: the gateway's own."""
    return next((login for login in logins if login.is_for_client(principal, address)), None)
