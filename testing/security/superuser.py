"""The superuser that sends a test's own requests if a listener wants credentials; its password is random."""

import secrets
from collections.abc import Mapping
from importlib.util import find_spec

from ...client.security.settings import SaslSettings, SecuritySettings
from ..wire.wire_client import CLIENT_ID
from .client_settings import ClientSettings
from .secured_listener import MECHANISMS, SecuredListener

USERS = {"alice": "secret of alice"}
"""The users if a test names none."""
NAMES_FROM_CERTIFICATES = "RULE:^CN=([^,]+)$/$1/,DEFAULT"
"""Maps CN=alice to User:alice, as with SASL, so that ACLs are the same for all protocols."""


def check_certificates_can_be_made(listener: SecuredListener) -> None:
    """Raises: ModuleNotFoundError for TLS without `cryptography`."""
    if listener.has_tls and find_spec("cryptography") is None:
        needs = "needs certificates: pip install './stepdown[security]', or cryptography alone"
        raise ModuleNotFoundError(f'security="{listener.protocol}" {needs}', name="cryptography")


class Superuser:
    """`listener`: the test's listener, with this user added."""

    def __init__(self, listener: SecuredListener) -> None:
        own = {CLIENT_ID: secrets.token_urlsafe()}
        self.listener = SecuredListener(
            protocol=listener.protocol, folder=listener.folder, users={**listener.users, **own}
        )

    def make_certificates(self) -> None:
        """Makes certificates of the broker and, without SASL, of each user. Raises: OSError, ModuleNotFoundError."""
        listener = self.listener
        check_certificates_can_be_made(listener)
        if listener.has_tls:
            from .certificates import make_certificates

            make_certificates(listener.folder, clients=() if listener.has_sasl else tuple(listener.users))

    def broker_settings(self, config: Mapping[str, str]) -> dict[str, str]:
        """Returns the listener's settings, overridden by `config`."""
        settings = {"listeners": f"{self.listener.protocol}://127.0.0.1:0", **self.listener.broker_settings()}
        if self.listener.protocol == "SSL":
            settings |= {
                "ssl.client.auth": "requested",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.listener.authority),
                "ssl.principal.mapping.rules": NAMES_FROM_CERTIFICATES,
            }
        supers = [config.get("super.users", ""), f"User:{CLIENT_ID}"]
        return {**settings, **config, "super.users": ";".join(filter(None, supers))}

    def security(self, config: Mapping[str, str]) -> SecuritySettings:
        """Returns the security of the test's own connections, with the first mechanism that `config` enables."""
        listener = self.listener
        tls = ClientSettings("", listener).ssl_context(CLIENT_ID) if listener.has_tls else None
        if not listener.has_sasl:
            return SecuritySettings(tls=tls)
        enabled = config.get("sasl.enabled.mechanisms", ",".join(MECHANISMS)).replace(" ", "").split(",")
        mechanism = next(each for each in enabled if each in MECHANISMS)
        sasl = SaslSettings(mechanism=mechanism, username=CLIENT_ID, password=listener.users[CLIENT_ID])
        return SecuritySettings(tls=tls, sasl=sasl)
