"""Makes the SASL mechanisms of a listener, once for all its connections."""

from collections.abc import Callable, Mapping

from ...config.listener_security import SaslSettings
from ..clock import Clock
from .login_credential import LoginCredential
from .mechanism import Mechanism
from .plain import Plain
from .scram import Scram

CredentialOf = Callable[[str, str], LoginCredential]
"""Returns the credential of a user for a mechanism."""


def make_exchange_makers(
    settings: SaslSettings, credential_of: CredentialOf, clock: Clock
) -> Mapping[str, Callable[[], Mechanism]]:
    """For each mechanism a function that makes one exchange. Raises: DiskFault when keys cannot be read."""
    return {name: _make_exchange_maker(name, settings, credential_of, clock) for name in settings.mechanisms}


def _make_exchange_maker(
    name: str, settings: SaslSettings, credential_of: CredentialOf, clock: Clock
) -> Callable[[], Mechanism]:
    if name == "PLAIN":
        return lambda: Plain(settings.passwords)
    if settings.oauth is not None and name == "OAUTHBEARER":
        from .oauthbearer import OAuthBearer, SignedTokens, UnsecuredTokens

        oauth = settings.oauth
        tokens = UnsecuredTokens(oauth, clock) if oauth.unsecured else SignedTokens(oauth, clock)
        return lambda: OAuthBearer(tokens, oauth, clock)
    return lambda: Scram(name, lambda user: credential_of(user, name))
