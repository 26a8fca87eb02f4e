"""`--tls` and `--user`: makes an authority, certificates and client settings in a folder, for tests.

    client.properties      settings of the newest Java clients, and of `stepdown produce`
    authority.pem, …       see testing/security/certificates.py

They are made once and reused, so that clients keep working when the broker is restarted.
"""

from collections.abc import Sequence
from pathlib import Path

from ...config import Given, Origin
from ...testing.security.private_file import write_privately
from ...testing.security.secured_listener import AUTHORITY, PROPERTIES, SERVER, SecuredListener

ORIGIN = Origin("option --tls or --user")


def security_settings(listen: str, folder: Path, users: Sequence[tuple[str, str]], *, tls: bool) -> list[Given]:
    """Returns the settings that --tls and --user stand for."""
    listener = _make_secured_listener(folder, users, tls=tls)
    texts = {"listeners": f"{listener.protocol}://{listen}", "advertised.listeners": "", **listener.broker_settings()}
    return [Given(name, text, ORIGIN) for name, text in texts.items()]


def make_security_files(listen: str, folder: Path, users: Sequence[tuple[str, str]], *, tls: bool) -> None:
    """Makes the files that those settings name, and `client.properties`.

    Raises: OSError, ImportError without the library for certificates.
    """
    if tls and not ((folder / SERVER).exists() and (folder / AUTHORITY).exists()):
        from ...testing.security.certificates import make_certificates

        folder.mkdir(parents=True, exist_ok=True)
        make_certificates(folder, listen.rpartition(":")[0])
    folder.mkdir(parents=True, exist_ok=True)
    texts = _make_secured_listener(folder, users, tls=tls).java_settings(users[0][0] if users else "")
    _write_properties(folder / PROPERTIES, texts)


def _make_secured_listener(folder: Path, users: Sequence[tuple[str, str]], *, tls: bool) -> SecuredListener:
    protocol = ("SASL_SSL" if tls else "SASL_PLAINTEXT") if users else "SSL"
    return SecuredListener(protocol=protocol, folder=folder, users=dict(users))


def _write_properties(path: Path, texts: dict[str, str]) -> None:
    lines = (f"{name}={text}\n".replace("\\", "\\\\") for name, text in texts.items())
    write_privately(path, "".join(_escape_non_ascii(letter) for line in lines for letter in line))


def _escape_non_ascii(letter: str) -> str:
    """Returns the letter for a Java properties file: beyond ASCII it is an escape of its UTF-16."""
    units = letter.encode("utf-16-be")
    return letter if letter.isascii() else "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
