"""The files that the settings of a listener name: its keys and certificates, and the keys of a token's issuer."""

from collections.abc import Iterable

from ...config.listener_security import ListenerSecurity, OAuthSettings
from ...protocol.errors import DiskFault
from ..clock import LoopClock


def find_unusable_files(listener: str, security: ListenerSecurity) -> Iterable[tuple[str, str]]:
    """Opens all files. Yields the setting and the reason for each that cannot be used."""
    if security.tls is not None:
        from ..tls.contexts import ListenerTlsContext, UnusableTls

        try:
            ListenerTlsContext(listener, lambda: security.tls, LoopClock())
        except UnusableTls as fault:
            yield from fault.reasons.items()
    if security.sasl is not None and security.sasl.oauth is not None:
        yield from _find_unusable_keys(security.sasl.oauth)


def _find_unusable_keys(oauth: OAuthSettings) -> Iterable[tuple[str, str]]:
    if oauth.key_file is None:
        return
    from ..sasl.oauthbearer import read_keys

    try:
        read_keys(oauth.key_file)
    except DiskFault as fault:
        yield "sasl.oauthbearer.jwks.endpoint.url", str(fault)
