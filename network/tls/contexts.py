"""The TLS context of a listener, made again when its settings or files change.

Connections keep the context that they began with, so a change of certificates closes none. Files are checked when a
client connects, at most once a second. If new files cannot be used, that is logged, and the old ones stay in use.
"""

import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ...config.listener_security import TlsSettings
from ...protocol.errors import DiskFault
from ...protocol.tls_faults import describe_pem_fault
from ..clock import Clock
from ..file_stamp import FileStamp, file_stamp
from .principal_rules import Rule, parse_principal_rules
from .stores import UnusableStore, read_key_and_certificates_as_pem, read_trusted_certificates

LOOK_MS = 1_000
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
SAFE_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers of TLS 1.2 with forward secrecy and authenticated encryption; Java has had them since 8."""

log = logging.getLogger(__name__)


class ServerTlsObject(ssl.SSLObject):
    """The server side of a connection. `asked_name`: the host name that the client asked for (SNI), or ""."""

    asked_name = ""


class UnusableTls(DiskFault):
    """Keys or certificates of a listener cannot be used. `reasons`: by setting, without secrets."""

    def __init__(self, listener: str, reasons: Mapping[str, str]) -> None:
        super().__init__(f"listener {listener}: {'; '.join(reasons.values())}")
        self.reasons = reasons


class ListenerTlsContext:
    """The TLS context of one listener, made again when it is asked for after a change."""

    def __init__(self, listener: str, settings: Callable[[], TlsSettings | None], clock: Clock) -> None:
        """Raises: UnusableTls if the first context cannot be made."""
        self._listener = listener
        now = settings()
        assert now is not None
        self._settings_now = settings
        self._clock = clock
        self._settings = now
        self._stamp = _file_stamps(self._settings)
        self._looked_ms = clock.monotonic_ms()
        self._context = make_server_context(listener, self._settings)
        self.principal_rules = _parse_principal_rules(listener, self._settings.principal_rules)

    def current(self) -> ssl.SSLContext:
        """The context for a new connection."""
        now_ms = self._clock.monotonic_ms()
        if now_ms - self._looked_ms >= LOOK_MS:
            self._looked_ms = now_ms
            self._reload_on_change()
        return self._context

    def _reload_on_change(self) -> None:
        settings = self._settings_now() or self._settings
        stamp = _file_stamps(settings)
        if stamp == self._stamp and settings == self._settings:
            return
        self._settings, self._stamp = settings, stamp
        try:
            self._context = make_server_context(self._listener, settings)
            log.info("listener %s: its certificates were read again", self._listener)
        except UnusableTls as fault:
            log.error("%s; the certificates that were read before stay in use", fault)


def _parse_principal_rules(listener: str, text: str) -> Sequence[Rule]:
    try:
        return parse_principal_rules(text)
    except ValueError as fault:
        key = "ssl.principal.mapping.rules"
        text = f"{key} cannot be used: {fault}; expected rules such as RULE:^CN=(.*?),.*$/$1/L, DEFAULT"
        raise UnusableTls(listener, {key: text}) from None


def _file_stamps(settings: TlsSettings) -> tuple[FileStamp | None, ...]:
    """Differs once one of the files has changed."""
    return tuple(file_stamp(path) for path in (settings.own_file, settings.trusted_file) if path is not None)


def make_server_context(listener: str, settings: TlsSettings) -> ssl.SSLContext:
    """Raises: UnusableTls."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    versions = [VERSIONS[name] for name in settings.versions]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.verify_mode = CLIENT_AUTH[settings.client_auth]
    context.sslobject_class = ServerTlsObject
    context.sni_callback = _note_server_name
    reasons = {
        key: f"{file or key} cannot be used: {why}"
        for load, key, file in (
            (_choose_ciphers, "ssl.cipher.suites", None),
            (
                _load_own_certificate,
                "ssl.keystore.location" if settings.own_file else "ssl.keystore.key",
                settings.own_file,
            ),
            (
                _load_trusted_certificates,
                "ssl.truststore.location" if settings.trusted_file else "ssl.truststore.certificates",
                settings.trusted_file,
            ),
        )
        if (why := _load_or_describe_fault(load, context, settings))
    }
    if reasons:
        raise UnusableTls(listener, reasons)
    return context


def _load_or_describe_fault(
    load: Callable[[ssl.SSLContext, TlsSettings], None], context: ssl.SSLContext, settings: TlsSettings
) -> str:
    """Loads into the context; returns why that failed, or ""."""
    try:
        load(context, settings)
    except (OSError, ValueError) as fault:
        return describe_pem_fault(fault)
    return ""


def _choose_ciphers(context: ssl.SSLContext, settings: TlsSettings) -> None:
    context.set_ciphers(_to_openssl_names(settings.cipher_suites) or SAFE_CIPHERS)


def _note_server_name(tls: ssl.SSLSocket | ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
    """Notes the name for `server_name`; the certificate is the same for all names."""
    if isinstance(tls, ServerTlsObject):
        tls.asked_name = name or ""


def _load_own_certificate(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.own_file is not None:
        pem, password = read_key_and_certificates_as_pem(
            settings.own_file, settings.store_password, settings.key_password
        )
    else:
        pem, password = f"{settings.own_key}\n{settings.own_chain}\n", settings.key_password
    # Python loads keys from files only, so one exists for a moment, which only this user can read.
    with TemporaryDirectory() as folder:
        file = Path(folder) / "own.pem"
        file.touch(mode=0o600)
        file.write_text(pem)
        context.load_cert_chain(file, password=password or "")


def _load_trusted_certificates(context: ssl.SSLContext, settings: TlsSettings) -> None:
    if settings.client_auth == "none":
        return
    trusted = settings.trusted
    if settings.trusted_file is not None:
        trusted = read_trusted_certificates(settings.trusted_file, settings.trusted_password)
    context.load_verify_locations(cadata=trusted)


def _to_openssl_names(suites: tuple[str, ...]) -> str:
    """OpenSSL's names of the suites of TLS 1.2. Suites of TLS 1.3, whose names have no key exchange, are left out.

    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256.
    """
    names = []
    for suite in suites:
        exchange, found, cipher = suite.removeprefix("TLS_").partition("_WITH_")
        if found:
            cipher = cipher.replace("AES_", "AES").replace("POLY1305_SHA256", "POLY1305").replace("_CBC_SHA", "_SHA")
            names.append(f"{exchange}_{cipher}".replace("_", "-"))
        elif not suite.startswith("TLS_"):
            raise UnusableStore(f"{suite} is no cipher suite; an example is TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    return ":".join(names)
