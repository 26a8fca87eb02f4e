"""The TLS context of a client's connections, from its settings."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ...config.errors import ConfigError, Problem
from .settings import TlsSettings

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def tls_context(tls: TlsSettings) -> ssl.SSLContext:
    """Raises: ConfigError for a file that is missing, or holds nothing of use."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.check_hostname = tls.checks_host
    wanted = [VERSIONS[name] for name in tls.versions]
    context.minimum_version, context.maximum_version = min(wanted), max(wanted)
    if tls.trusted_file is not None or tls.trusted is not None:
        with _name_faults("ssl.truststore.location" if tls.trusted_file else "ssl.truststore.certificates"):
            context.load_verify_locations(cafile=tls.trusted_file, cadata=tls.trusted)
    else:
        context.load_default_certs()
    if tls.own_file is not None:
        with _name_faults("ssl.keystore.location"):
            context.load_cert_chain(tls.own_file, password=tls.key_password or "")
    elif tls.own_key is not None and tls.own_chain is not None:
        with _name_faults("ssl.keystore.key"):
            _load_own(context, tls.own_key, tls.own_chain, tls.key_password or "")
    return context


def _load_own(context: ssl.SSLContext, key: str, chain: str, password: str) -> None:
    """Python takes keys from files alone, so one is there for a moment, for nobody else to read."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "own.pem"
        file.touch(mode=0o600)
        file.write_text(f"{key}\n{chain}\n")
        context.load_cert_chain(file, password=password)


@contextmanager
def _name_faults(key: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as fault:
        raise ConfigError([Problem(key=key, expected=f"expected PEM that can be read: {fault}")]) from fault
