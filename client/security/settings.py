"""A client's `security.*`, `ssl.*` and `sasl.*` settings.

    security.protocol   PLAINTEXT  SSL  SASL_PLAINTEXT  SASL_SSL
    trust               ssl.truststore.location or .certificates; else the certificates of the machine
    own certificate     ssl.keystore.location (key and chain in one file), or .key and .certificate.chain
    host name           checked against the certificate unless ssl.endpoint.identification.algorithm is empty
    SASL                sasl.mechanism with sasl.jaas.config, or with sasl.username and sasl.password; OAUTHBEARER
                        takes its token from the application
    ssl.SSLContext      in place of all ssl.* settings

Stores are PEM, which Kafka has too since 2.7 (KIP-651); Java's own formats are refused.
Source: Kafka 3.9, SslConfigs, SaslConfigs, CommonClientConfigs.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from ssl import SSLContext

from ...config.errors import ConfigError, Problem
from ...config.keys.jaas import parse_jaas
from ...config.keys.key import AT_START, LIST, PASSWORD, STRING, Key, active
from ...config.keys.value_checks import EachOf, OneOf, OnlyValue
from ...config.keys.value_types import Value
from ...config.similar_names import nearest

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)
LOGIN_MODULES = {"PLAIN": "PlainLoginModule"}
_PEM = OnlyValue("PEM", "Java's own formats are not read")

KEYS: dict[str, Key] = {
    key.name: key
    for key in (
        active("security.protocol", STRING, "PLAINTEXT", OneOf(PROTOCOLS, fold=True), AT_START, "TLS, SASL, both."),
        active("ssl.truststore.type", STRING, "PEM", _PEM, AT_START, "The form of the trusted certificates."),
        active("ssl.truststore.location", STRING, None, None, AT_START, "A file of trusted certificates."),
        active("ssl.truststore.certificates", PASSWORD, None, None, AT_START, "Trusted certificates themselves."),
        active("ssl.keystore.type", STRING, "PEM", _PEM, AT_START, "The form of the own certificate."),
        active("ssl.keystore.location", STRING, None, None, AT_START, "A file of the own key and certificates."),
        active("ssl.keystore.key", PASSWORD, None, None, AT_START, "The own key itself."),
        active("ssl.keystore.certificate.chain", PASSWORD, None, None, AT_START, "The own certificates themselves."),
        active("ssl.key.password", PASSWORD, None, None, AT_START, "What the own key is encrypted with."),
        active(
            "ssl.endpoint.identification.algorithm",
            STRING,
            "https",
            OneOf(("https", ""), fold=True),
            AT_START,
            "Whether a certificate has to be for the host that was asked for; empty: it need not.",
        ),
        active(
            "ssl.enabled.protocols",
            LIST,
            ("TLSv1.2", "TLSv1.3"),
            EachOf(("TLSv1.2", "TLSv1.3")),
            AT_START,
            "The versions of TLS that may be spoken.",
        ),
        active("sasl.mechanism", STRING, "PLAIN", OneOf(MECHANISMS), AT_START, "How the password is proved."),
        active("sasl.jaas.config", PASSWORD, None, None, AT_START, "User and password, as for Kafka's clients."),
        active("sasl.username", STRING, None, None, AT_START, "The user, where there is no sasl.jaas.config."),
        active("sasl.password", PASSWORD, None, None, AT_START, "The password, where there is no sasl.jaas.config."),
    )
}

TokenProvider = Callable[[], str | Awaitable[str]]
"""Returns an OAUTHBEARER token as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """`…_file` are paths; other certificates and keys are PEM text. `versions`: of TLS, such as TLSv1.3."""

    trusted_file: str | None = None
    trusted: str | None = None
    own_file: str | None = None
    own_key: str | None = field(default=None, repr=False)
    own_chain: str | None = None
    key_password: str | None = field(default=None, repr=False)
    checks_host: bool = True
    versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings:
    """A login by a password, or by a token that the provider gives before each login."""

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token_provider: TokenProvider | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """`tls` None: no TLS. `sasl` None: no login. `tls` may be a context that the application made."""

    tls: TlsSettings | SSLContext | None = None
    sasl: SaslSettings | None = None


OPEN = SecuritySettings()


def parse_security(properties: Mapping[str, str]) -> SecuritySettings:
    """The settings in the properties of a client.properties, named as in KEYS. Raises: ConfigError."""
    values: dict[str, Value | None] = {name: key.default for name, key in KEYS.items()}
    problems = []
    for name, text in properties.items():
        key = KEYS.get(name)
        if key is None:
            problems.append(Problem(key=name, expected="no client has this setting", nearest=nearest(name, KEYS)))
            continue
        try:
            values[name] = key.value_of(text)
        except ValueError:
            found = "" if key.sensitive else text
            problems.append(Problem(key=name, expected=f"expected {key.expected}", found=found))
    security = make_security_settings(values, properties, problems, ssl_context=None, token_provider=None)
    if problems:
        raise ConfigError(problems)
    return security


def make_security_settings(
    values: Mapping[str, Value | None],
    asked: Collection[str],
    problems: list[Problem],
    *,
    ssl_context: SSLContext | None,
    token_provider: TokenProvider | None,
) -> SecuritySettings:
    """The security settings of these values; adds faults to `problems`. `asked`: the names that were given."""
    protocol = str(values["security.protocol"]).upper()
    tls, sasl = protocol.endswith("SSL"), protocol.startswith("SASL")
    if ssl_context is not None:
        _add_problems_of_ssl_context(tls, asked, problems)
    if token_provider is not None and not (sasl and values["sasl.mechanism"] == OAUTHBEARER):
        expected = f"expected SASL and {OAUTHBEARER}, which alone takes tokens"
        problems.append(Problem(key="sasl.mechanism", expected=expected))
    return SecuritySettings(
        tls=(ssl_context or _parse_tls(values, problems)) if tls else None,
        sasl=_parse_sasl(values, problems, token_provider) if sasl else None,
    )


def _add_problems_of_ssl_context(tls: bool, asked: Collection[str], problems: list[Problem]) -> None:
    if not tls:
        expected = "expected SSL or SASL_SSL beside an ssl_context"
        problems.append(Problem(key="security.protocol", expected=expected))
    problems += [
        Problem(key=name, expected="expected no value beside an ssl_context, which has its own")
        for name in asked
        if name.startswith("ssl.")
    ]


def _parse_tls(values: Mapping[str, Value | None], problems: list[Problem]) -> TlsSettings:
    def text(name: str) -> str | None:
        value = values[name]
        return str(value) if value else None

    for one, other in (
        ("ssl.truststore.location", "ssl.truststore.certificates"),
        ("ssl.keystore.location", "ssl.keystore.key"),
    ):
        if text(one) and text(other):
            problems.append(Problem(key=other, expected=f"expected no value beside {one}"))
    if bool(text("ssl.keystore.key")) != bool(text("ssl.keystore.certificate.chain")):
        expected = "expected ssl.keystore.key and ssl.keystore.certificate.chain together"
        problems.append(Problem(key="ssl.keystore.key", expected=expected))
    versions = values["ssl.enabled.protocols"]
    if not versions:
        problems.append(Problem(key="ssl.enabled.protocols", expected="expected at least one"))
    return TlsSettings(
        trusted_file=text("ssl.truststore.location"),
        trusted=text("ssl.truststore.certificates"),
        own_file=text("ssl.keystore.location"),
        own_key=text("ssl.keystore.key"),
        own_chain=text("ssl.keystore.certificate.chain"),
        key_password=text("ssl.key.password"),
        checks_host=bool(values["ssl.endpoint.identification.algorithm"]),
        versions=versions if isinstance(versions, tuple) else (),
    )


def _parse_sasl(
    values: Mapping[str, Value | None], problems: list[Problem], token_provider: TokenProvider | None
) -> SaslSettings:
    mechanism = str(values["sasl.mechanism"])
    if mechanism == OAUTHBEARER:
        if token_provider is None:
            expected = f"expected token_provider=…, which gives {OAUTHBEARER} its token"
            problems.append(Problem(key="sasl.mechanism", expected=expected))
        return SaslSettings(mechanism=mechanism, token_provider=token_provider)
    username, password = values["sasl.username"], values["sasl.password"]
    if values["sasl.jaas.config"]:
        username, password = _parse_jaas_login(str(values["sasl.jaas.config"]), mechanism, problems)
    elif not username or not password:
        expected = "expected a login: sasl.jaas.config, or sasl.username and sasl.password"
        problems.append(Problem(key="sasl.jaas.config", expected=expected))
    return SaslSettings(mechanism=mechanism, username=str(username or ""), password=str(password or ""))


def _parse_jaas_login(text: str, mechanism: str, problems: list[Problem]) -> tuple[str, str]:
    """User and password of `org.apache.kafka…LoginModule required username="…" password="…";`."""
    module = LOGIN_MODULES.get(mechanism, "ScramLoginModule")
    options = parse_jaas(text, module) or {}
    if not options.get("username") or not options.get("password"):
        expected = f'expected {module} required username="…" password="…"; with sasl.mechanism={mechanism}'
        problems.append(Problem(key="sasl.jaas.config", expected=expected))
    return options.get("username", ""), options.get("password", "")
