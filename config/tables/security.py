"""Broker keys of TLS, SASL and access rules. Sources: Kafka 3.9 SslConfigs, SaslConfigs."""

from __future__ import annotations

from ..keys.endpoints import PROTOCOLS
from ..keys.key import (
    AT_START,
    BOOLEAN,
    CLASS,
    DOUBLE,
    INT,
    LIST,
    LONG,
    PASSWORD,
    PER_BROKER,
    SHORT,
    STRING,
    Key,
    UpdateMode,
    active,
    inert,
)
from ..keys.value_checks import AtLeast, Check, OneOf
from ..keys.value_types import Value, ValueType

AUTHORIZERS = (
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "kafka.security.authorizer.AclAuthorizer",
    "kafka.security.auth.SimpleAclAuthorizer",
)
DEFAULT_PRINCIPAL_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


def _at_listener(
    name: str, kind: ValueType, default: Value | None, check: Check | None, change: UpdateMode, doc: str
) -> Key:
    """A key that `listener_security.py` reads for each listener."""
    return active(name, kind, default, check, change, doc, attribute="")


LISTENERS = (
    active(
        "connection.failed.authentication.delay.ms",
        INT,
        100,
        AtLeast(0),
        AT_START,
        "Time that the answer to a failed login is held back, before the connection is closed. Of the page: in which "
        "no other password from its network is looked at.",
    ),
    _at_listener(
        "connections.max.reauth.ms",
        LONG,
        0,
        None,
        AT_START,
        "Time after which a client that logged in by SASL has to do so again (KIP-368); 0 sets no limit.",
    ),
    _at_listener(
        "sasl.enabled.mechanisms",
        LIST,
        ("GSSAPI",),
        None,
        PER_BROKER,
        "SASL mechanisms: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER. The default of Kafka, GSSAPI "
        "(Kerberos), is not offered: a listener with SASL needs this setting.",
    ),
    _at_listener(
        "sasl.jaas.config",
        PASSWORD,
        None,
        None,
        PER_BROKER,
        "Only as listener.name.NAME.plain.sasl.jaas.config: the users of PLAIN and their passwords.",
    ),
    _at_listener(
        "sasl.oauthbearer.clock.skew.seconds",
        INT,
        30,
        None,
        AT_START,
        "Difference that the issuer's clock may have to ours.",
    ),
    _at_listener(
        "sasl.oauthbearer.expected.audience",
        LIST,
        None,
        None,
        AT_START,
        "Audiences, one of which a token has to be for.",
    ),
    _at_listener(
        "sasl.oauthbearer.expected.issuer", STRING, None, None, AT_START, "Issuer that a token has to come from."
    ),
    _at_listener(
        "sasl.oauthbearer.jwks.endpoint.url",
        STRING,
        None,
        None,
        AT_START,
        "Where the issuer's keys (JWKS) are, as file:///PATH. They are read again when the file changes; no other "
        "URL is read.",
    ),
    _at_listener(
        "sasl.oauthbearer.scope.claim.name", STRING, "scope", None, AT_START, "Claim that holds a token's scopes."
    ),
    _at_listener("sasl.oauthbearer.sub.claim.name", STRING, "sub", None, AT_START, "Claim that holds a token's user."),
    _at_listener(
        "sasl.server.max.receive.size",
        INT,
        524_288,
        None,
        AT_START,
        "Largest request before a client has logged in.",
    ),
    _at_listener(
        "ssl.cipher.suites",
        LIST,
        (),
        None,
        PER_BROKER,
        "Cipher suites of TLS 1.2, by Kafka's names; those of TLS 1.3 cannot be chosen. Empty: those with forward "
        "secrecy and authenticated encryption.",
    ),
    _at_listener(
        "ssl.client.auth",
        STRING,
        "none",
        OneOf(("required", "requested", "none")),
        PER_BROKER,
        "Whether clients show a certificate: required, requested or none.",
    ),
    _at_listener(
        "ssl.enabled.protocols",
        LIST,
        ("TLSv1.2", "TLSv1.3"),
        None,
        PER_BROKER,
        "The versions of TLS that may be spoken.",
    ),
    _at_listener("ssl.key.password", PASSWORD, None, None, PER_BROKER, "What the listener's key is encrypted with."),
    _at_listener(
        "ssl.keystore.certificate.chain",
        PASSWORD,
        None,
        None,
        PER_BROKER,
        "The listener's certificate and those that signed it, as PEM text.",
    ),
    _at_listener("ssl.keystore.key", PASSWORD, None, None, PER_BROKER, "The listener's key, as PEM text."),
    _at_listener(
        "ssl.keystore.location",
        STRING,
        None,
        None,
        PER_BROKER,
        "File of the listener's key and certificates: PEM, PKCS#12 or JKS, whatever ssl.keystore.type says. It is "
        "read again when it changes.",
    ),
    _at_listener("ssl.keystore.password", PASSWORD, None, None, PER_BROKER, "Password of a PKCS#12 or JKS file."),
    _at_listener(
        "ssl.keystore.type",
        STRING,
        "JKS",
        None,
        PER_BROKER,
        "PEM, PKCS12 or JKS; the file shows by itself what it is.",
    ),
    _at_listener(
        "ssl.principal.mapping.rules",
        STRING,
        "DEFAULT",
        None,
        AT_START,
        "How a certificate's distinguished name becomes the user's name (KIP-371).",
    ),
    _at_listener(
        "ssl.truststore.certificates",
        PASSWORD,
        None,
        None,
        PER_BROKER,
        "Certificates that clients' are signed by, as PEM text.",
    ),
    _at_listener(
        "ssl.truststore.location",
        STRING,
        None,
        None,
        PER_BROKER,
        "File of certificates that clients' are signed by: PEM, PKCS#12 or JKS. It is read again when it changes.",
    ),
    _at_listener("ssl.truststore.password", PASSWORD, None, None, PER_BROKER, "Password of a PKCS#12 or JKS file."),
    _at_listener(
        "ssl.truststore.type",
        STRING,
        "JKS",
        None,
        PER_BROKER,
        "PEM, PKCS12 or JKS; the file shows by itself what it is.",
    ),
)
"""Keys that may be set for one listener as listener.name.<name>.<key>."""

KEYS = (
    *LISTENERS,
    *inert(
        "Only Kafka's Java classes, Kerberos or the connections between brokers have a use for it.",
        (
            "principal.builder.class",
            CLASS,
            DEFAULT_PRINCIPAL_BUILDER,
            None,
            PER_BROKER,
        ),
        ("sasl.client.callback.handler.class", CLASS, None, None, AT_START),
        ("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", None, PER_BROKER),
        ("sasl.kerberos.min.time.before.relogin", LONG, 60_000, None, PER_BROKER),
        ("sasl.kerberos.principal.to.local.rules", LIST, ("DEFAULT",), None, PER_BROKER),
        ("sasl.kerberos.service.name", STRING, None, None, PER_BROKER),
        ("sasl.kerberos.ticket.renew.jitter", DOUBLE, 0.05, None, PER_BROKER),
        ("sasl.kerberos.ticket.renew.window.factor", DOUBLE, 0.8, None, PER_BROKER),
        ("sasl.login.callback.handler.class", CLASS, None, None, AT_START),
        ("sasl.login.class", CLASS, None, None, AT_START),
        ("sasl.login.connect.timeout.ms", INT, None, None, AT_START),
        ("sasl.login.read.timeout.ms", INT, None, None, AT_START),
        ("sasl.login.refresh.buffer.seconds", SHORT, 300, None, PER_BROKER),
        ("sasl.login.refresh.min.period.seconds", SHORT, 60, None, PER_BROKER),
        ("sasl.login.refresh.window.factor", DOUBLE, 0.8, None, PER_BROKER),
        ("sasl.login.refresh.window.jitter", DOUBLE, 0.05, None, PER_BROKER),
        ("sasl.login.retry.backoff.max.ms", LONG, 10_000, None, AT_START),
        ("sasl.login.retry.backoff.ms", LONG, 100, None, AT_START),
        ("sasl.mechanism.controller.protocol", STRING, "GSSAPI", None, AT_START),
        ("sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI", None, PER_BROKER),
        ("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, 3_600_000, None, AT_START),
        ("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, 10_000, None, AT_START),
        ("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, 100, None, AT_START),
        ("sasl.oauthbearer.token.endpoint.url", STRING, None, None, AT_START),
        ("sasl.server.callback.handler.class", CLASS, None, None, AT_START),
        (
            "security.inter.broker.protocol",
            STRING,
            "PLAINTEXT",
            OneOf(PROTOCOLS),
            AT_START,
        ),
        ("security.providers", STRING, None, None, AT_START),
        ("ssl.allow.dn.changes", BOOLEAN, False, None, AT_START),
        ("ssl.allow.san.changes", BOOLEAN, False, None, AT_START),
        ("ssl.endpoint.identification.algorithm", STRING, "https", None, PER_BROKER),
        ("ssl.engine.factory.class", CLASS, None, None, PER_BROKER),
        ("ssl.keymanager.algorithm", STRING, "SunX509", None, PER_BROKER),
        ("ssl.protocol", STRING, "TLSv1.3", None, PER_BROKER),
        ("ssl.provider", STRING, None, None, PER_BROKER),
        ("ssl.secure.random.implementation", STRING, None, None, PER_BROKER),
        ("ssl.trustmanager.algorithm", STRING, "PKIX", None, PER_BROKER),
    ),
    active(
        "authorizer.class.name",
        STRING,
        "",
        OneOf(("", *AUTHORIZERS)),
        AT_START,
        "Who decides what clients may do. Empty: everybody may do everything. Kafka's names stand for the authorizer "
        "that this broker has, which follows the rules of StandardAuthorizer.",
    ),
    active(
        "super.users",
        STRING,
        None,
        None,
        AT_START,
        "Principals that may do everything, such as User:admin;User:CN=ops, separated by semicolons.",
    ),
    active(
        "allow.everyone.if.no.acl.found",
        BOOLEAN,
        False,
        None,
        AT_START,
        "Whether everybody may do everything with a resource that no access rule applies to.",
    ),
    *inert(
        "There are no delegation tokens.",
        ("delegation.token.expiry.check.interval.ms", LONG, 3_600_000, AtLeast(1), AT_START),
        ("delegation.token.expiry.time.ms", LONG, 86_400_000, AtLeast(1), AT_START),
        ("delegation.token.master.key", PASSWORD, None, None, AT_START),
        ("delegation.token.max.lifetime.ms", LONG, 604_800_000, AtLeast(1), AT_START),
        ("delegation.token.secret.key", PASSWORD, None, None, AT_START),
    ),
    *inert(
        "Dynamic settings are not encrypted.",
        ("password.encoder.cipher.algorithm", STRING, "AES/CBC/PKCS5Padding", None, AT_START),
        ("password.encoder.iterations", INT, 4096, AtLeast(1024), AT_START),
        ("password.encoder.key.length", INT, 128, AtLeast(8), AT_START),
        ("password.encoder.keyfactory.algorithm", STRING, None, None, AT_START),
        ("password.encoder.old.secret", PASSWORD, None, None, AT_START),
        ("password.encoder.secret", PASSWORD, None, None, AT_START),
    ),
)
