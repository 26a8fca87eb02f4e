"""The TLS context of a client's connections, from its settings."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ...config.errors import ConfigError, Problem
from ...protocol.tls_faults import describe_pem_fault
from .settings import SecuritySettings, TlsSettings

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def make_tls_context(tls: TlsSettings) -> ssl.SSLContext:
    """Raises: ConfigError, with all files that are missing or hold nothing of use."""
    problems: list[Problem] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.check_hostname = tls.checks_host
    wanted = [VERSIONS[name] for name in tls.versions]
    context.minimum_version, context.maximum_version = min(wanted), max(wanted)
    if tls.trusted_file is not None or tls.trusted is not None:
        with _collect_pem_fault(
            problems, "ssl.truststore.location" if tls.trusted_file else "ssl.truststore.certificates"
        ):
            context.load_verify_locations(cafile=tls.trusted_file, cadata=tls.trusted)
    else:
        context.load_default_certs()
    if tls.own_file is not None:
        with _collect_pem_fault(problems, "ssl.keystore.location"):
            context.load_cert_chain(tls.own_file, password=tls.key_password or "")
    elif tls.own_key is not None and tls.own_chain is not None:
        with _collect_pem_fault(problems, "ssl.keystore.key"):
            _load_own_certificate(context, tls.own_key, tls.own_chain, tls.key_password or "")
    if problems:
        raise ConfigError(problems)
    return context


def load_certificates(security: SecuritySettings) -> SecuritySettings:
    """The same settings with `tls` as an SSLContext, its certificates loaded. Raises: ConfigError."""
    tls = security.tls
    return replace(security, tls=make_tls_context(tls)) if isinstance(tls, TlsSettings) else security


def _load_own_certificate(context: ssl.SSLContext, key: str, chain: str, password: str) -> None:
    """Python loads keys only from files, so a private file exists for a moment."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "own.pem"
        file.touch(mode=0o600)
        file.write_text(f"{key}\n{chain}\n")
        context.load_cert_chain(file, password=password)


@contextmanager
def _collect_pem_fault(problems: list[Problem], key: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as fault:
        problems.append(Problem(key=key, expected=f"expected PEM that can be used: {describe_pem_fault(fault)}"))
