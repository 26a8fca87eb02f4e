"""`--tls` and `--user`: an authority, certificates, users, and what clients need, in a folder, for tests.

    authority.pem          what clients trust
    server.pem             the key and certificate of the broker, for localhost, 127.0.0.1 and the advertised host
    client.properties      settings of the newest Java clients, and of `stepdown produce`
    truststore.p12         the authority for Java clients before 2.7, password `stepdown`

They are made once and used again: a client keeps working when the broker is started anew.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...config import Given, Origin

if TYPE_CHECKING:
    from cryptography import x509

STORE_PASSWORD = b"stepdown"
LIFETIME = datetime.timedelta(days=365)
_LOGIN = "org.apache.kafka.common.security"
ORIGIN = Origin("option --tls or --user")


def security_flags(listen: str, folder: Path, users: Sequence[tuple[str, str]], *, tls: bool) -> list[Given]:
    """The settings that --tls and --user stand for; with --tls the files are there when it returns.

    Raises: OSError, ImportError without the library for certificates.
    """
    protocol = ("SASL_SSL" if tls else "SASL_PLAINTEXT") if users else "SSL"
    texts = {"listeners": f"{protocol}://{listen}", "advertised.listeners": ""}
    folder.mkdir(parents=True, exist_ok=True)
    if tls:
        make_certificates(folder, listen.rpartition(":")[0])
        texts |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(folder / "server.pem")}
    if users:
        options = "".join(f' user_{name}="{_quoted(password)}"' for name, password in users)
        texts["sasl.enabled.mechanisms"] = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
        texts[f"listener.name.{protocol.lower()}.plain.sasl.jaas.config"] = (
            f"{_LOGIN}.plain.PlainLoginModule required{options};"
        )
    _write(folder / "client.properties", _client_properties(folder, protocol, users))
    return [Given(name, text, ORIGIN) for name, text in texts.items()]


def _client_properties(folder: Path, protocol: str, users: Sequence[tuple[str, str]]) -> str:
    lines = [f"security.protocol={protocol}"]
    if protocol.endswith("SSL"):
        lines += ["ssl.truststore.type=PEM", f"ssl.truststore.location={(folder / 'authority.pem').resolve()}"]
    if users:
        name, password = users[0]
        login = f'{_LOGIN}.scram.ScramLoginModule required username="{name}" password="{_quoted(password)}";'
        lines += ["sasl.mechanism=SCRAM-SHA-512", "sasl.jaas.config=" + login.replace("\\", "\\\\")]
    return "".join(_in_latin_1(letter) for letter in "\n".join(lines) + "\n")


def _in_latin_1(letter: str) -> str:
    """As Java reads properties: other letters as the escapes of their UTF-16."""
    units = letter.encode("utf-16-be")
    return letter if letter.isascii() else "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def make_certificates(folder: Path, host: str) -> None:
    """An authority and a server's certificate, unless they are there."""
    if (folder / "server.pem").exists() and (folder / "authority.pem").exists():
        return
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

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])

    def begun(subject: str, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(issuer_name=named("stepdown tests"), subject_name=named(subject))
        builder = builder.serial_number(x509.random_serial_number()).public_key(public)
        return builder.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + LIFETIME)

    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    if host not in ("", "localhost", "127.0.0.1", "0.0.0.0"):
        names.append(_general_name(host))
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    own = begun("stepdown tests", authority_key.public_key())
    own = own.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    own = own.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False
    ).add_extension(_signs(), critical=True)
    authority = own.sign(authority_key, hashes.SHA256())
    server = (
        begun("stepdown", key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + server.public_bytes(Encoding.PEM)
    _write(folder / "authority.pem", authority.public_bytes(Encoding.PEM).decode())
    trusted = [pkcs12.PKCS12Certificate(authority, b"stepdown")]
    store = pkcs12.serialize_java_truststore(trusted, BestAvailableEncryption(STORE_PASSWORD))
    (folder / "truststore.p12").write_bytes(store)
    _write(folder / "server.pem", text.decode())


def _signs() -> x509.KeyUsage:
    from cryptography import x509

    usages = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    off = dict.fromkeys((*usages, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(key_cert_sign=True, crl_sign=True, **off)


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return x509.DNSName(host)


def _write(path: Path, text: str) -> None:
    """For nobody else to read: there are keys and passwords in it."""
    path.touch(mode=0o600)
    path.write_text(text)
