"""Refuses settings that name the operator's own security classes: without them, other clients would be let in.

Each may be set for all listeners, for one listener, or for one mechanism of it. Source: Kafka 3.9 `SslConfigs`,
`BrokerSecurityConfigs`, `SecurityConfig`; Kafka 4.4 `SaslConfigs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .errors import Problem
from .sources.origin import Given
from .tables.security import DEFAULT_PRINCIPAL_BUILDER

SECURITY_PLUGINS: Mapping[str, str] = {
    "principal.builder.class": "users are named by ssl.principal.mapping.rules and logins",
    "sasl.oauthbearer.jwt.validator.class": "tokens are checked by this broker",
    "sasl.server.callback.handler.class": "logins are checked by the mechanisms of this broker",
    "security.providers": "TLS and SASL are those of this broker",
    "ssl.engine.factory.class": "certificates are checked by OpenSSL",
}
"""The settings, with what stepdown does instead."""
KAFKAS_OWN = (
    "",
    DEFAULT_PRINCIPAL_BUILDER,
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator",
)
"""Kafka's own classes, whose behaviour stepdown has."""
_OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(?:(?:plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi)\.)?")


def find_problem_of_plugin(given: Given) -> Problem | None:
    """The problem of a setting that names a security class; None for any other setting."""
    instead = SECURITY_PLUGINS.get(_OF_LISTENER.sub("", given.key, count=1))
    if instead is None or given.text.strip() in KAFKAS_OWN:
        return None
    return Problem(key=given.key, expected=f"no Java class can be used: {instead}; remove it", origin=given.origin)
