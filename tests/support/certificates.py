"""An authority and the certificates that it signed, as PEM files: for brokers and clients of tests on 127.0.0.1."""

from datetime import datetime
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)


class Authority:
    """A certificate authority of a test. `file` holds its certificate."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._authority = trustme.CA(organization_name=name)
        self.file = folder / f"{name}.pem"
        self._authority.cert_pem.write_to_path(self.file)

    def issue(self, name: str, host: str = "127.0.0.1", *, ends: datetime | None = None) -> Path:
        """A file with a key (PKCS 8, which Java wants) and the certificate of a host."""
        issued = self._authority.issue_cert(host, common_name=name, not_after=ends)
        key = load_pem_private_key(issued.private_key_pem.bytes(), None)
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file = self._folder / f"{name}.pem"
        file.write_bytes(text + b"".join(part.bytes() for part in issued.cert_chain_pems))
        return file
