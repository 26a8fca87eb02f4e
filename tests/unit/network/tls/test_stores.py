"""Keys and certificates of PEM, PKCS#12 and JKS files come out as the same PEM."""

import ssl
from collections.abc import Callable
from pathlib import Path

import jks
import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import Certificate, load_pem_x509_certificates
from stepdown.network.tls.stores import UnusableStore, read_key_and_certificates_as_pem, read_trusted_certificates
from support.certificates import Authority

PASSWORD = "a password"
Wrap = Callable[[bytes, list[Certificate]], bytes]


def as_pkcs12(key: bytes, chain: list[Certificate]) -> bytes:
    own = load_pem_private_key(key, None)
    return pkcs12.serialize_key_and_certificates(
        b"own",
        own,
        chain[0],
        chain[1:],
        BestAvailableEncryption(PASSWORD.encode()),  # type: ignore[arg-type]
    )


def as_jks(key: bytes, chain: list[Certificate]) -> bytes:
    der = load_pem_private_key(key, None).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    entry = jks.PrivateKeyEntry.new("own", [each.public_bytes(Encoding.DER) for each in chain], der, "pkcs8")
    return bytes(jks.KeyStore.new("jks", [entry]).saves(PASSWORD))


def trusted_as_jks(chain: list[Certificate]) -> bytes:
    entries = [jks.TrustedCertEntry.new(str(n), each.public_bytes(Encoding.DER)) for n, each in enumerate(chain)]
    return bytes(jks.KeyStore.new("jks", entries).saves(PASSWORD))


def trusted_as_pkcs12(chain: list[Certificate]) -> bytes:
    entries = [pkcs12.PKCS12Certificate(each, None) for each in chain]
    return pkcs12.serialize_java_truststore(entries, BestAvailableEncryption(PASSWORD.encode()))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.mark.parametrize("wrap", [as_pkcs12, as_jks])
def test_a_key_with_its_certificates(authority: Authority, tmp_path: Path, wrap: Wrap) -> None:
    issued = authority.issue("broker")
    pem = issued.read_bytes()
    store = tmp_path / "store"
    store.write_bytes(wrap(pem, load_pem_x509_certificates(pem)))
    text, password = read_key_and_certificates_as_pem(str(store), PASSWORD, None)
    assert load_pem_x509_certificates(text.encode()) == load_pem_x509_certificates(pem)
    assert password is None
    file = tmp_path / "again.pem"
    file.write_text(text)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)


@pytest.mark.parametrize("wrap", [trusted_as_pkcs12, trusted_as_jks])
def test_certificates_that_are_trusted(
    authority: Authority, tmp_path: Path, wrap: Callable[[list[Certificate]], bytes]
) -> None:
    trusted = load_pem_x509_certificates(authority.file.read_bytes())
    store = tmp_path / "store"
    store.write_bytes(wrap(trusted))
    assert load_pem_x509_certificates(read_trusted_certificates(str(store), PASSWORD).encode()) == trusted


@pytest.mark.parametrize("wrap", [as_pkcs12, as_jks])
def test_a_wrong_password_is_said_and_not_shown(authority: Authority, tmp_path: Path, wrap: Wrap) -> None:
    pem = authority.issue("broker").read_bytes()
    store = tmp_path / "store"
    store.write_bytes(wrap(pem, load_pem_x509_certificates(pem)))
    with pytest.raises(UnusableStore) as refused:
        read_key_and_certificates_as_pem(str(store), "wrong one", None)
    assert "password" in str(refused.value)
    assert "wrong one" not in str(refused.value)
