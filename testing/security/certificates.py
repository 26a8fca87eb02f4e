"""An authority, and certificates that it signed, as files for tests.

    authority.pem          what clients trust
    truststore.p12         the same for Java clients before 2.7, password `stepdown`
    server.pem             the key and certificate of the broker, for localhost, 127.0.0.1 and one more host
    client-NAME.pem        the key and certificate of a client, whose distinguished name is CN=NAME

They are made by `cryptography`, which comes with `stepdown[security]`.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from .private_file import write_privately
from .secured_listener import AUTHORITY, SERVER, TRUSTSTORE, client_pem

STORE_PASSWORD = b"stepdown"
LIFETIME = datetime.timedelta(days=365)
_AUTHORITY_NAME = "stepdown tests"
_UNUSED_BY_AUTHORITY = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "encipher_only",
    "decipher_only",
)


def make_certificates(folder: Path, host: str = "", clients: Sequence[str] = ()) -> None:
    """Writes the files. `host`: another name or address of the broker. Raises: OSError."""
    key = ec.generate_private_key(ec.SECP256R1())
    authority = _make_authority(key)
    write_privately(folder / AUTHORITY, authority.public_bytes(Encoding.PEM).decode())
    trusted = [pkcs12.PKCS12Certificate(authority, b"stepdown")]
    store = pkcs12.serialize_java_truststore(trusted, BestAvailableEncryption(STORE_PASSWORD))
    (folder / TRUSTSTORE).write_bytes(store)
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    if host not in ("", "localhost", "127.0.0.1", "0.0.0.0"):
        names.append(_general_name(host))
    write_privately(folder / SERVER, _issue_certificate("stepdown", key, x509.SubjectAlternativeName(names)))
    for name in clients:
        write_privately(client_pem(folder, name), _issue_certificate(name, key, None))


def _make_authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    signs = x509.KeyUsage(key_cert_sign=True, crl_sign=True, **dict.fromkeys(_UNUSED_BY_AUTHORITY, False))
    return (
        _certificate_builder(_AUTHORITY_NAME, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(signs, critical=True)
        .sign(key, hashes.SHA256())
    )


def _issue_certificate(
    name: str, authority: ec.EllipticCurvePrivateKey, hosts: x509.SubjectAlternativeName | None
) -> str:
    """A new key and the certificate for it, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    builder = _certificate_builder(name, key.public_key()).add_extension(issuer, critical=False)
    if hosts is not None:
        builder = builder.add_extension(hosts, critical=False)
    certificate = builder.sign(authority, hashes.SHA256())
    own = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return (own + certificate.public_bytes(Encoding.PEM)).decode()


def _certificate_builder(subject: str, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder(issuer_name=_x509_name(_AUTHORITY_NAME), subject_name=_x509_name(subject))
        .serial_number(x509.random_serial_number())
        .public_key(public)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + LIFETIME)
    )


def _x509_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return x509.DNSName(host)
