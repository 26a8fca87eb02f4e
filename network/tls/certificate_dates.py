"""Finds certificates that have expired or are not valid yet.

Reading the dates needs the library of `stepdown[security]`; without it nothing is found.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from ...config.listener_security import TlsSettings
from .stores import read_key_and_certificates_as_pem, read_trusted_certificates


def list_certificates_not_in_force(tls: TlsSettings, now_ms: int) -> Iterator[str]:
    """A line for each such certificate of a listener, own or trusted, with its file and the date.

    Raises: OSError, UnusableStore.
    """
    if tls.own_file is not None:
        yield from find_certificates_not_in_force(
            tls.own_file,
            read_key_and_certificates_as_pem(tls.own_file, tls.store_password, tls.key_password)[0],
            now_ms,
        )
    elif tls.own_chain is not None:
        yield from find_certificates_not_in_force("ssl.keystore.certificate.chain", tls.own_chain, now_ms)
    if tls.client_auth == "none":
        return
    if tls.trusted_file is not None:
        trusted = read_trusted_certificates(tls.trusted_file, tls.trusted_password)
        yield from find_certificates_not_in_force(tls.trusted_file, trusted, now_ms)
    elif tls.trusted is not None:
        yield from find_certificates_not_in_force("ssl.truststore.certificates", tls.trusted, now_ms)


def list_certificates_not_in_force_in_files(files: Iterable[str | None], now_ms: int) -> Iterator[str]:
    """The same for PEM files. Raises: OSError."""
    for file in files:
        if file is not None:
            yield from find_certificates_not_in_force(file, read_trusted_certificates(file, None), now_ms)


def find_certificates_not_in_force(name: str, pem: str, now_ms: int) -> Iterator[str]:
    """The same for the certificates in `pem`; `name` is their file or setting."""
    try:
        from cryptography.x509 import load_pem_x509_certificates
    except ImportError:
        return
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    try:
        certificates = load_pem_x509_certificates(pem.encode())
    except ValueError:  # OpenSSL may accept it
        return
    for each in certificates:
        subject = each.subject.rfc4514_string() or f"number {each.serial_number}"
        if each.not_valid_after_utc < now:
            yield f"{name}: the certificate of {subject} ended on {each.not_valid_after_utc:%Y-%m-%d}"
        elif each.not_valid_before_utc > now:
            yield f"{name}: the certificate of {subject} begins on {each.not_valid_before_utc:%Y-%m-%d}"
