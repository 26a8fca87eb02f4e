"""TLS over a blocking socket, one record at a time; docs/decisions/tls-transport.md has the reasons."""

import socket
import ssl
from contextlib import suppress

from ..protocol.tls_faults import HUNG_UP
from ..protocol.tls_records import CHUNK_BYTES, TlsBuffers, TlsRecords


class TlsSocket:
    """The methods of a socket that `Connection` uses. Raises: OSError, which includes ssl.SSLError; MalformedFrame for
    records that no honest broker sends."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str) -> None:
        """Shakes hands with a broker whose certificate has to be that of `host`."""
        self.settimeout, self.shutdown, self.close = sock.settimeout, sock.shutdown, sock.close
        self._sock, self._buffers = sock, TlsBuffers()
        self._records = TlsRecords(context, self._buffers, host=host)
        data = self._buffers.scratch[:0]
        while not self._continue_handshake(data):
            data = self._receive_in_handshake()
            if not data:
                raise ConnectionResetError(HUNG_UP)

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        for at in range(0, len(view), CHUNK_BYTES):
            self._records.encrypt_to_unsent(view[at : at + CHUNK_BYTES])
            try:
                self._send_unsent()
            except ConnectionError:
                self._raise_alert_of_peer()
                raise

    def recv(self, most_bytes: int) -> bytes:
        """Returns the data of one record, even if that is above `most_bytes`; b"" at the end of the stream."""
        opened = b""
        while not opened and not self._records.is_at_end and (data := self._receive()):
            opened = self._records.decrypt(data)
            self._send_unsent()
        return opened

    def _continue_handshake(self, data: memoryview) -> bool:
        try:
            return self._records.continue_handshake(data)
        finally:
            with suppress(OSError):  # the next read fails as well; a fault of the handshake says more
                self._send_unsent()

    def _raise_alert_of_peer(self) -> None:
        """In TLS 1.3 a client learns that its certificate was refused only after it has sent its first request.

        Raises: ssl.SSLError.
        """
        try:
            while data := self._receive():
                self._records.decrypt(data)
        except ssl.SSLError:
            raise
        except OSError:
            return

    def _receive_in_handshake(self) -> memoryview:
        try:
            return self._receive()
        except ConnectionError:
            raise ConnectionResetError(HUNG_UP) from None

    def _receive(self) -> memoryview:
        size = self._sock.recv_into(self._buffers.scratch, self._records.wanted_bytes)
        return self._buffers.scratch[:size]

    def _send_unsent(self) -> None:
        if unsent := self._records.take_unsent():
            self._sock.sendall(unsent)
