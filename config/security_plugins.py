"""Settings by which a class of the operator's decides who gets in: refused, since without it others would get in.

Each may be given for all listeners, for one, or for one mechanism of one. Source: Kafka 3.9 `SslConfigs`,
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
"""What happens here instead."""
KAFKAS_OWN = (
    "",
    DEFAULT_PRINCIPAL_BUILDER,
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator",
)
"""Classes that do what is done here."""
_OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(?:(?:plain|scram-sha-256|scram-sha-512|oauthbearer|gssapi)\.)?")


def find_problem_of_plugin(given: Given) -> Problem | None:
    """The problem of a setting that names such a class; None for every other one."""
    instead = SECURITY_PLUGINS.get(_OF_LISTENER.sub("", given.key, count=1))
    if instead is None or given.text.strip() in KAFKAS_OWN:
        return None
    return Problem(key=given.key, expected=f"no Java class can be used: {instead}; remove it", origin=given.origin)
