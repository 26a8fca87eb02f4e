"""Peers that brokers refuse are among what they did last."""

import socket
import struct
from contextlib import suppress

import pytest
from stepdown.testing import running

HANDSHAKE_PLAIN = struct.pack(">hhih3sh5s", 17, 0, 1, 3, b"app", 5, b"PLAIN")
WRONG = b"\0alice\0wrong"


@pytest.mark.parametrize(
    ("security", "sent", "told"),
    [
        ("SASL_PLAINTEXT", (HANDSHAKE_PLAIN, WRONG), "(client 'app'): authentication by PLAIN failed: "),
        ("SSL", (HANDSHAKE_PLAIN,), "(client ''): TLS handshake failed: "),
    ],
    ids=("login", "handshake"),
)
def test_a_refused_peer_is_one_line_with_the_reason(security: str, sent: tuple[bytes, ...], told: str) -> None:
    """A test whose client had a wrong password, or no certificate, showed nothing of it."""
    with running(security=security, config={"connection.failed.authentication.delay.ms": 0}) as kafka:
        host, _, port = kafka.bootstrap.rpartition(":")
        for _ in range(2):
            with socket.create_connection((host, int(port))) as sock:
                sock.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in sent))
                with suppress(ConnectionResetError):
                    while sock.recv(4096):
                        pass
        lines = [line for line in kafka.control.ask("GET", "events/last")["lines"] if "refused" in line]
        assert len(lines) == 1, lines
        assert f"broker 1 refused 127.0.0.1 {told}" in lines[0] and lines[0].endswith("(2 times)")
