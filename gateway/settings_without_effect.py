"""Which of the gateway's settings have no effect, since only other settings have a use for them."""

from collections.abc import Iterable

from ..config import Given
from .setting_keys import LISTENER, LOGINS, PORTS, SINGLE, SNI, UPSTREAM
from .settings import GatewaySettings

OF_OTHER_ADDRESSES = {
    PORTS: {"advertised.port", "broker.host"},
    SINGLE: {"broker.host", "first.port"},
    SNI: {"first.port"},
}


def describe_settings_without_effect(given: Iterable[Given], settings: GatewaySettings) -> list[str]:
    """A line for each setting that is given and that only other settings have a use for."""
    names = sorted({each.key for each in given if not each.key.startswith(LOGINS)})
    lines = [
        f"{name} has no effect with addresses={settings.addresses}"
        for name in names
        if name in OF_OTHER_ADDRESSES[settings.addresses]
    ]
    for name in names:
        prefix = UPSTREAM if name.startswith(UPSTREAM) else ""
        security = settings.security if prefix else settings.network.listener_security[LISTENER]
        if ("sasl." in name and security.sasl is None) or ("ssl." in name and security.tls is None):
            protocol = f"{'' if security.sasl is None else 'SASL_'}{'PLAINTEXT' if security.tls is None else 'SSL'}"
            lines.append(f"{name} has no effect with {prefix}security.protocol={protocol}")
    return lines
