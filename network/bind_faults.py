"""What is said of an address that cannot be bound."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def naming_address(host: str, port: int) -> Iterator[None]:
    """Says which address it was that cannot be bound. Raises: OSError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) or not error.errno else os.strerror(error.errno)
        raise OSError(f"cannot listen on {host}:{port}: {reason}") from error
