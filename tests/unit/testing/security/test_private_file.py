"""Files with secrets."""

import os
from pathlib import Path

from stepdown.testing.security.private_file import write_privately


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_privately(tmp_path / "own.pem", "secret")
    finally:
        os.umask(before)
    assert mode(tmp_path / "own.pem") == 0o600


def test_a_file_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    """Written once more over a file of mode 0644, keys and passwords stayed readable for everybody."""
    path = tmp_path / "client.properties"
    path.write_text("longer than what comes")
    path.chmod(0o644)
    write_privately(path, "secret")
    assert mode(path) == 0o600
    assert path.read_text() == "secret"
