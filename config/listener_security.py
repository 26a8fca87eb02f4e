"""The security settings of each listener: the effective `ssl.*` and `sasl.*` settings.

A setting of one listener, `listener.name.<name>.<key>` in small letters, has precedence over the setting without
prefix; one of a listener and mechanism, `listener.name.<name>.<mechanism>.<key>`, over both. JAAS settings can only be
set for a listener and mechanism. Source: Kafka 3.9 `ChannelBuilders`, `JaasContext`, `SslConfigs`, `SaslConfigs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .errors import Problem, wrong_value
from .keys.endpoints import Endpoint
from .keys.jaas import parse_jaas
from .keys.key import MAX_INT, Key
from .keys.value_types import Value
from .layered_values import Layers
from .sources.origin import NOWHERE, Given
from .tables.all_keys import BROKER_KEYS
from .tables.security import LISTENERS

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
LOGIN_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
}
JAAS = "sasl.jaas.config"
LIMITS = ("max.connections", "max.connection.creation.rate")
"""Limits that one listener may have beside those of the broker, which apply to all listeners together."""
_OF_LISTENER = re.compile(r"listener\.name\.[^.A-Z]+\.(?:(plain|scram-sha-256|scram-sha-512|oauthbearer)\.)?(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The TLS settings: key stores by path or as PEM text; `client_auth`: none, requested or required."""

    own_file: str | None
    own_key: str | None = field(repr=False)
    own_chain: str | None
    store_password: str | None = field(repr=False)
    key_password: str | None = field(repr=False)
    trusted_file: str | None
    trusted: str | None
    trusted_password: str | None = field(repr=False)
    client_auth: str
    versions: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    principal_rules: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """The settings for checking tokens; `unsecured`: tokens are not checked."""

    key_file: str | None
    audiences: tuple[str, ...]
    issuer: str | None
    clock_skew_s: int
    subject_claim: str
    scope_claim: str
    unsecured: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings:
    """`passwords`: those of PLAIN, by user. `max_session_ms`: the longest session by mechanism, 0 for no limit."""

    mechanisms: tuple[str, ...]
    passwords: Mapping[str, str] = field(repr=False)
    max_session_ms: Mapping[str, int]
    failure_delay_ms: int
    max_token_bytes: int
    oauth: OAuthSettings | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSecurity:
    """The security of one listener; `tls` and `sasl` are None if it has none."""

    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None


def key_of_listener(name: str) -> Key | None:
    """The key that the setting `listener.name.<listener>.<key>` sets for one listener; None if it has no effect."""
    found = _OF_LISTENER.fullmatch(name)
    if found is None:
        return None
    mechanism, key = found.groups()
    if key == JAAS:
        return BROKER_KEYS[key] if mechanism else None
    if mechanism and not key.startswith(("sasl.oauthbearer.", *_OF_MECHANISM)):
        return None
    if key in LIMITS:
        return None if mechanism else BROKER_KEYS[key]
    return next((known for known in LISTENERS if known.name == key), None)


def listener_of(name: str) -> str:
    """The listener, in small letters, of a setting with the prefix `listener.name.`."""
    return name.split(".")[2]


def applies_to_protocol(name: str, protocol: str) -> bool:
    """Whether a listener with this security protocol uses its own setting of that name."""
    key = key_of_listener(name)
    if key is None or key.name in LIMITS:
        return True
    return protocol.endswith("SSL") if key.name.startswith("ssl.") else protocol.startswith("SASL")


def find_problem_of_capitals(given: Given) -> Problem | None:
    """The problem of a listener's setting with capital letters, which has no effect, as in Kafka; else None."""
    small = given.key.lower()
    if small == given.key or key_of_listener(small) is None:
        return None
    return Problem(key=given.key, expected=f"has no effect in capitals: write {small}", origin=given.origin)


_OF_MECHANISM = ("connections.max.reauth.ms", "sasl.server.max.receive.size")
"""Settings, beside those of OAUTHBEARER, that may be set for one mechanism of a listener."""


class _ListenerKeys:
    """Reads the effective values for one listener, and collects problems."""

    def __init__(self, layers: Layers, endpoint: Endpoint, problems: list[Problem]) -> None:
        self.name = endpoint.listener_name
        self.protocol = endpoint.protocol
        self.prefix = f"listener.name.{self.name.lower()}."
        self._layers = layers
        self._problems = problems

    def own(self, key: str, mechanism: str = "") -> Given | None:
        """The text that was set for this listener alone, or this listener and mechanism."""
        name = self.prefix + (f"{mechanism.lower()}." if mechanism else "") + key
        for _, text in self._layers.texts_of(name):
            return Given(name, text, self._layers.origins.get(name, NOWHERE))
        return None

    def value(self, key: str, mechanism: str = "") -> Value | None:
        given = (self.own(key, mechanism) if mechanism else None) or self.own(key)
        if given is None:
            return self._layers.value(key)
        known = BROKER_KEYS[key]
        try:
            return known.value_of(given.text)
        except ValueError:
            self._problems.append(wrong_value(given, known.expected, sensitive=known.sensitive))
            return known.default

    def text(self, key: str, mechanism: str = "") -> str | None:
        value = self.value(key, mechanism)
        return str(value) if value else None

    def number(self, key: str, mechanism: str = "") -> int:
        value = self.value(key, mechanism)
        return value if isinstance(value, int) else 0

    def items(self, key: str, mechanism: str = "") -> tuple[str, ...]:
        value = self.value(key, mechanism)
        return tuple(filter(None, value)) if isinstance(value, tuple) else ()

    def add_problem(self, key: str, expected: str) -> None:
        problem = Problem(key=self.prefix + key, expected=expected)
        if problem not in self._problems:
            self._problems.append(problem)


def listener_limit(key: str, layers: Layers, endpoint: Endpoint, problems: list[Problem]) -> int:
    """One of `LIMITS` as set for this listener, MAX_INT if it is not."""
    listener = _ListenerKeys(layers, endpoint, problems)
    return MAX_INT if listener.own(key) is None else listener.number(key)


def build_listener_security(layers: Layers, endpoint: Endpoint, problems: list[Problem]) -> ListenerSecurity:
    """Builds the security settings of a listener; adds faults to `problems`."""
    listener = _ListenerKeys(layers, endpoint, problems)
    return ListenerSecurity(
        tls=_build_tls(listener) if endpoint.protocol.endswith("SSL") else None,
        sasl=_build_sasl(listener) if endpoint.protocol.startswith("SASL") else None,
    )


def _build_tls(listener: _ListenerKeys) -> TlsSettings:
    settings = TlsSettings(
        own_file=listener.text("ssl.keystore.location"),
        own_key=listener.text("ssl.keystore.key"),
        own_chain=listener.text("ssl.keystore.certificate.chain"),
        store_password=listener.text("ssl.keystore.password"),
        key_password=listener.text("ssl.key.password"),
        trusted_file=listener.text("ssl.truststore.location"),
        trusted=listener.text("ssl.truststore.certificates"),
        trusted_password=listener.text("ssl.truststore.password"),
        client_auth=_client_auth(listener),
        versions=listener.items("ssl.enabled.protocols"),
        cipher_suites=listener.items("ssl.cipher.suites"),
        principal_rules=listener.text("ssl.principal.mapping.rules") or "DEFAULT",
    )
    if settings.own_file is None and (settings.own_key is None or settings.own_chain is None):
        listener.add_problem(
            "ssl.keystore.location",
            "expected a file with the key and certificate of this listener, or ssl.keystore.key and "
            "ssl.keystore.certificate.chain",
        )
    elif settings.own_file is not None and settings.own_key is not None:
        listener.add_problem("ssl.keystore.key", "expected no value beside ssl.keystore.location")
    if settings.trusted_file is not None and settings.trusted is not None:
        listener.add_problem("ssl.truststore.certificates", "expected no value beside ssl.truststore.location")
    if settings.client_auth != "none" and settings.trusted_file is None and settings.trusted is None:
        listener.add_problem(
            "ssl.truststore.location", "expected the certificates that clients' are signed by: ssl.client.auth is on"
        )
    if not settings.versions or not set(settings.versions) <= {"TLSv1.2", "TLSv1.3"}:
        listener.add_problem("ssl.enabled.protocols", "expected TLSv1.2, TLSv1.3 or both")
    return settings


def _client_auth(listener: _ListenerKeys) -> str:
    """The client authentication; ssl.client.auth without a listener's prefix does not apply to SASL_SSL (KIP-684)."""
    if listener.protocol == "SASL_SSL" and listener.own("ssl.client.auth") is None:
        return "none"
    return listener.text("ssl.client.auth") or "none"


def _build_sasl(listener: _ListenerKeys) -> SaslSettings:
    mechanisms = listener.items("sasl.enabled.mechanisms")
    unknown = [name for name in mechanisms if name not in MECHANISMS]
    if unknown or not mechanisms:
        listener.add_problem(
            "sasl.enabled.mechanisms",
            f"expected some of {', '.join(MECHANISMS)}, found {', '.join(unknown) or 'none'}"
            + ("; Kerberos (GSSAPI) is not offered" if "GSSAPI" in unknown else ""),
        )
    return SaslSettings(
        mechanisms=mechanisms,
        passwords=_parse_plain_passwords(listener) if "PLAIN" in mechanisms else {},
        max_session_ms={name: listener.number("connections.max.reauth.ms", name) for name in mechanisms},
        failure_delay_ms=listener.number("connection.failed.authentication.delay.ms"),
        max_token_bytes=max(1, listener.number("sasl.server.max.receive.size")),
        oauth=_build_oauth(listener) if "OAUTHBEARER" in mechanisms else None,
    )


def _parse_plain_passwords(listener: _ListenerKeys) -> dict[str, str]:
    given = listener.own(JAAS, "PLAIN")
    options = None if given is None else parse_jaas(given.text, LOGIN_MODULES["PLAIN"])
    if options is None:
        listener.add_problem("plain.sasl.jaas.config", 'expected PlainLoginModule required user_NAME="PASSWORD" …;')
        return {}
    return {name.removeprefix("user_"): text for name, text in options.items() if name.startswith("user_")}


def _build_oauth(listener: _ListenerKeys) -> OAuthSettings:
    mechanism = "OAUTHBEARER"
    url = listener.text("sasl.oauthbearer.jwks.endpoint.url", mechanism)
    unsecured = bool(listener.value("stepdown.oauthbearer.unsecured"))
    if url is not None and not url.startswith("file:"):
        listener.add_problem(
            "sasl.oauthbearer.jwks.endpoint.url", "expected file:///PATH of a JWKS file: none is fetched"
        )
    if url is None and not unsecured:
        listener.add_problem(
            "sasl.oauthbearer.jwks.endpoint.url",
            "expected file:///PATH of the issuer's keys: without a key no token can be checked",
        )
    if url is not None and unsecured:
        listener.add_problem(
            "sasl.oauthbearer.jwks.endpoint.url", "expected no keys with stepdown.oauthbearer.unsecured"
        )
    audiences = listener.items("sasl.oauthbearer.expected.audience", mechanism)
    if not audiences and not unsecured and not listener.value("stepdown.oauthbearer.any.audience"):
        listener.add_problem(
            "sasl.oauthbearer.expected.audience",
            "expected the audience that tokens for this broker have: without it a token that the issuer made for "
            "another service logs in here; stepdown.oauthbearer.any.audience=true accepts that",
        )
    return OAuthSettings(
        key_file=None if url is None else "/" + url.removeprefix("file:").lstrip("/"),
        audiences=audiences,
        issuer=listener.text("sasl.oauthbearer.expected.issuer", mechanism),
        clock_skew_s=listener.number("sasl.oauthbearer.clock.skew.seconds", mechanism),
        subject_claim=listener.text("sasl.oauthbearer.sub.claim.name", mechanism) or "sub",
        scope_claim=listener.text("sasl.oauthbearer.scope.claim.name", mechanism) or "scope",
        unsecured=unsecured,
    )
