"""One side of a TLS connection over bytes, one record at a time; docs/decisions/tls-transport.md has the reasons.

OpenSSL, asked for data, reads on through records that have none (a renewed key, a session ticket, an alert), as many
as there are. So the caller passes one record after the other, and counts them.

    record      type, 1 byte, 20 to 23; version, 2 bytes; size of the rest, 2 bytes; the rest (RFC 8446, 5.1; RFC 5246,
                6.2.3: at most 2,048 bytes more than its 16 KiB of data)
"""

import ssl
from contextlib import suppress
from typing import Final

from .errors import MalformedFrame
from .tls_faults import NO_RECORD

HEADER_BYTES: Final = 5
DATA_BYTES: Final = 16 * 1024
"""The most data in one record."""
MOST_BYTES: Final = HEADER_BYTES + DATA_BYTES + 2048
RECORD_TYPES: Final = range(20, 24)
MOST_WITHOUT_DATA: Final = 32
"""Records without data that a peer may send: a renewed key costs 11 to 60 µs."""
DATA_BYTES_FOR_ANOTHER: Final = 4 * 1024
"""For each 4 KiB of data a peer may send one more record without data. Honest peers need far fewer: they
renew a key after gigabytes, and send two session tickets."""
CHUNK_BYTES: Final = 32 * 1024
"""The most data sealed in one call; the connections of a loop keep memory for one such piece."""
SCRATCH_BYTES: Final = 64 * 1024


class TlsBuffers:
    """What connections hand OpenSSL, and take from it: empty between two calls, so that all of a loop share them.
    `scratch` is for what is read from files and sockets."""

    def __init__(self) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))


class TlsRecords:
    """The records of one connection. `tls` is OpenSSL's side of it; `unsent`, what is to be sent to the peer next;
    `is_at_end`: the peer has said that it sends no more."""

    def __init__(
        self, context: ssl.SSLContext, buffers: TlsBuffers, *, is_server: bool = False, host: str | None = None
    ) -> None:
        """`host`: whose certificate a server has to show."""
        self.tls = context.wrap_bio(buffers.incoming, buffers.outgoing, server_side=is_server, server_hostname=host)
        self.unsent = b""
        self.is_at_end = False
        self._incoming, self._outgoing = buffers.incoming, buffers.outgoing
        self._header = b""  # of the next record
        self._left = 0  # bytes of a record that has begun, which are to come
        self._credit_bytes = MOST_WITHOUT_DATA * DATA_BYTES_FOR_ANOTHER

    @property
    def wanted_bytes(self) -> int:
        """How many bytes complete the current record and the next header; only that header if no record has begun."""
        return self._left + HEADER_BYTES if self._left else HEADER_BYTES - len(self._header)

    def continue_handshake(self, data: memoryview) -> bool:
        """Takes `wanted_bytes` at most; returns whether the handshake is done.

        Raises: ssl.SSLError, also when the bytes are not TLS.
        """
        try:
            self._give_to_openssl(data)
            self.tls.do_handshake()
            with suppress(ssl.SSLWantReadError):  # there is nothing: OpenSSL lets go of its buffer for records
                self.tls.read(DATA_BYTES)
            return True
        except ssl.SSLWantReadError:
            return False
        except MalformedFrame as fault:
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, str(fault)) from None
        finally:
            self._collect_output()

    def decrypt(self, data: memoryview) -> bytes:
        """Takes `wanted_bytes` at most; returns the data of the record that ends in them, or b"".

        Raises: MalformedFrame for too many records without data and for bytes that are not TLS, ssl.SSLError.
        """
        try:
            if not self._give_to_openssl(data):
                return b""
            opened = self.tls.read(DATA_BYTES)
        except ssl.SSLWantReadError:
            if not self._left or self._header:
                self._check_credit_without_data()
            return b""
        finally:
            self._collect_output()
        self.is_at_end = not opened
        self._credit_bytes = min(MOST_WITHOUT_DATA * DATA_BYTES_FOR_ANOTHER, self._credit_bytes + len(opened))
        return opened

    def encrypt_to_unsent(self, data: memoryview) -> int:
        """Adds the records of `data`, CHUNK_BYTES at most, to `unsent`. Returns how many bytes were sealed."""
        sealed = self.tls.write(data)
        self._collect_output()
        return sealed

    def take_unsent(self) -> bytes:
        """Returns `unsent` and empties it; the caller has to send it."""
        unsent, self.unsent = self.unsent, b""
        return unsent

    def add_close_notify(self) -> None:
        """Adds to `unsent` the alert that nothing more comes. Raises: ssl.SSLError, ValueError."""
        try:
            self.tls.unwrap()
        finally:
            self._collect_output()

    def close(self) -> None:
        """Frees what OpenSSL holds now, even if something, such as a traceback, still refers to this object."""
        del self.tls

    def _give_to_openssl(self, data: memoryview) -> bool:
        """Hands OpenSSL what belongs to the current record, and keeps the header of the next. Returns whether
        OpenSSL was given anything."""
        size = min(self._left, len(data))
        if size:
            if self._header:
                self._incoming.write(self._header)
                self._header = b""
            self._incoming.write(data[:size])
            self._left -= size
        if size < len(data):
            self._header += data[size:]
            if len(self._header) == HEADER_BYTES:
                self._parse_record_header()
        return size > 0

    def _parse_record_header(self) -> None:
        self._left = int.from_bytes(self._header[3:], "big")
        if self._header[0] not in RECORD_TYPES or not 0 < self._left <= MOST_BYTES - HEADER_BYTES:
            raise MalformedFrame(f"{NO_RECORD} {self._header.hex(' ')}")

    def _collect_output(self) -> None:
        if self._outgoing.pending:
            self.unsent += self._outgoing.read()
        if self._incoming.pending:  # after an error
            self._incoming.read()

    def _check_credit_without_data(self) -> None:
        """Raises: MalformedFrame."""
        self._credit_bytes -= DATA_BYTES_FOR_ANOTHER
        if self._credit_bytes < 0:
            raise MalformedFrame(f"more than {MOST_WITHOUT_DATA} TLS records without data, such as renewals of its key")
