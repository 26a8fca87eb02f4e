"""Reads keys and certificates from PEM, PKCS#12 and JKS files, as PEM. The beginning of a file tells its format.

    -----BEGIN       PEM
    fe ed fe ed      JKS, read by pyjks
    30               PKCS#12, read by cryptography

Both libraries come with `stepdown[security]`; PEM needs neither.
"""

import base64
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MOST_BYTES = 16 << 20
JKS_MAGIC = b"\xfe\xed\xfe\xed"
WITHOUT_LIBRARY = (
    "a PKCS#12 or JKS file needs a library: pip install '.[security]' where stepdown's sources are, or give PEM"
)


class UnusableStore(ValueError):
    """A file cannot be used; the message says why, without secrets."""


def read_key_and_certificates_as_pem(
    path: str, store_password: str | None, key_password: str | None
) -> tuple[str, str | None]:
    """A key with its certificates, as PEM, and the password of the key.

    Raises: UnusableStore, OSError.
    """
    data = _read_store(path)
    if _is_pem(data):
        return data.decode(errors="replace"), key_password or store_password
    if data.startswith(JKS_MAGIC):
        return _key_and_certificates_of_jks(data, store_password, key_password), None
    return _key_and_certificates_of_pkcs12(data, store_password), None


def read_trusted_certificates(path: str, password: str | None) -> str:
    """Certificates, as PEM. Raises: UnusableStore, OSError."""
    data = _read_store(path)
    if _is_pem(data):
        return data.decode(errors="replace")
    if data.startswith(JKS_MAGIC):
        store = _load_jks(data, password)
        return _certificates_as_pem(entry.cert for entry in store.certs.values())
    return _certificates_of_pkcs12(data, password)


def _read_store(path: str) -> bytes:
    with Path(path).open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UnusableStore(f"more than {MOST_BYTES} bytes")
    return data


def _is_pem(data: bytes) -> bool:
    return b"-----BEGIN" in data[:65536]


def _key_and_certificates_of_pkcs12(data: bytes, password: str | None) -> str:
    store = _load_pkcs12(data, password)
    if store.key is None or store.cert is None:
        raise UnusableStore("no key with a certificate in it")

    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key: str = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return key + _pkcs12_certificates_as_pem([store.cert, *store.additional_certs])


def _certificates_of_pkcs12(data: bytes, password: str | None) -> str:
    store = _load_pkcs12(data, password)
    found = ([] if store.cert is None else [store.cert]) + list(store.additional_certs)
    if not found:
        raise UnusableStore("no certificate in it")
    return _pkcs12_certificates_as_pem(found)


def _load_pkcs12(data: bytes, password: str | None) -> Any:
    try:
        from cryptography.hazmat.primitives.serialization import pkcs12
    except ImportError as fault:
        raise UnusableStore(WITHOUT_LIBRARY) from fault
    try:
        return pkcs12.load_pkcs12(data, None if password is None else password.encode())
    except ValueError:
        raise UnusableStore("neither PEM, JKS nor PKCS#12, or the password is wrong") from None


def _pkcs12_certificates_as_pem(entries: Iterable[Any]) -> str:
    """The certificates in these entries of a PKCS#12 file, as PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in entries)


def _load_jks(data: bytes, password: str | None) -> Any:
    try:
        import jks
    except ImportError as fault:
        raise UnusableStore(WITHOUT_LIBRARY) from fault
    try:
        return jks.KeyStore.loads(data, password or "", try_decrypt_keys=False)
    except (jks.util.KeystoreException, ValueError) as fault:
        raise UnusableStore(f"a JKS file that cannot be read, is the password right? {type(fault).__name__}") from None


def _key_and_certificates_of_jks(data: bytes, store_password: str | None, key_password: str | None) -> str:
    from jks.util import KeystoreException

    entries = list(_load_jks(data, store_password).private_keys.values())
    if not entries:
        raise UnusableStore("no key in it")
    entry = entries[0]
    try:
        entry.decrypt(key_password or store_password or "")
    except KeystoreException:
        raise UnusableStore("a key that its password does not open") from None
    return _encode_pem("PRIVATE KEY", entry.pkey_pkcs8) + _certificates_as_pem(der for _, der in entry.cert_chain)


def _certificates_as_pem(ders: Iterable[bytes]) -> str:
    found = "".join(_encode_pem("CERTIFICATE", der) for der in ders)
    if not found:
        raise UnusableStore("no certificate in it")
    return found


def _encode_pem(label: str, der: bytes) -> str:
    body = "\n".join(textwrap.wrap(base64.b64encode(der).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"
