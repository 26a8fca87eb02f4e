"""TLS over a connection's socket, with the same interface as `PlainTransport`; docs/decisions/tls-transport.md has the
reasons.

OpenSSL reads and writes the non-blocking socket itself. It is handed 64 KiB at a time; if the socket did not take all
of them they count as not sent, and OpenSSL goes on where it was when it is handed the same bytes again, as all do that
may wait for room. So a stalled reader holds one record, 17 KiB, and a file's bytes are read from it again.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from ..memory_budget import Claim, MemoryBudget
from ..transport import PlainTransport

RECORD_BYTES = 16 * 1024
CHUNK_BYTES = 64 * 1024
"""Handed to OpenSSL in one call, which writes records until the socket is full: a call a record takes a third more."""
HANDSHAKE_BYTES = 64 * 1024
"""What OpenSSL holds of a handshake that is under way: two buffers of a record, keys, messages."""
RECORD_HEADER_BYTES = 5
HANDSHAKE_RECORD = 22
"""The first byte of a record with a ClientHello; the fourth and the fifth hold its size (RFC 8446, 5.1)."""
MOST_FLIGHTS = 4
"""A client answers three times at most (a second ClientHello, keys, certificates); what comes drop by drop counts no
more often as something that goes on."""
FOR_EVER = float("inf")


class HandshakeFailed(Exception):
    """No TLS with this peer; the message says why."""


class TlsWire(PlainTransport):
    """A TCP socket on which the peer begins with TLS. `scratch` is for the bytes of files, shared by all wires."""

    sends_files = sends_in_threads = False

    def __init__(self, sock: socket.socket, loop: asyncio.AbstractEventLoop, scratch: bytearray) -> None:
        super().__init__(sock, loop)
        self._scratch = memoryview(scratch)
        self._tls: ssl.SSLSocket | None = None

    @property
    def server_name(self) -> str:
        """The host name that the peer has asked for in its handshake (SNI), "" if none."""
        return str(self._tls.server_hostname or "") if self._tls is not None else ""

    async def handshake(self, context: Callable[[], ssl.SSLContext], memory: MemoryBudget, owner: str) -> ssl.SSLSocket:
        """Returns the TLS socket when the peer is as it has to be. OpenSSL is asked for nothing, and no memory is
        claimed for `owner`, before the first record is whole: half of a ClientHello stays with the kernel.

        Raises: HandshakeFailed, OSError when the peer has gone or the wire was closed.
        """
        await self._first_record()
        claim = memory.try_claim(HANDSHAKE_BYTES, owner) or await memory.claim(HANDSHAKE_BYTES, owner)
        try:
            return await self._shake_hands(context(), claim)
        finally:
            claim.release()

    async def _first_record(self) -> None:
        """Returns when the first record is there, or what is no record, or the peer sends no more."""
        if await self._wait_for(RECORD_HEADER_BYTES):
            size = RECORD_HEADER_BYTES + int.from_bytes(self._scratch[3:RECORD_HEADER_BYTES], "big")
            if self._scratch[0] == HANDSHAKE_RECORD and size <= RECORD_HEADER_BYTES + RECORD_BYTES:
                await self._wait_for(size)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

    async def _wait_for(self, wanted: int) -> bool:
        """Has the kernel tell when so many bytes are there, and peeks at them; whether they are.

        The kernel tells at the end of the stream, too, and when it is short of memory for more.
        """
        is_told = False
        while True:
            try:
                size = self._sock.recv_into(self._scratch, wanted, socket.MSG_PEEK)
            except (BlockingIOError, InterruptedError):
                is_told, size = False, -1
            if size == 0:
                raise ConnectionResetError("the peer left before TLS")
            if is_told or size == wanted:
                return size == wanted
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, wanted)
            await self.readable()
            is_told = True

    async def _shake_hands(self, context: ssl.SSLContext, claim: Claim) -> ssl.SSLSocket:
        if self._closed:
            raise ConnectionResetError("closed")
        claim.reclaimable(lambda: self._give_up(claim))
        self._sock = tls = context.wrap_socket(
            self._sock, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=True
        )
        flights_left = MOST_FLIGHTS
        while True:
            try:
                tls.do_handshake()
                self._tls = tls
                return tls
            except ssl.SSLWantReadError:
                await self.readable()
                if flights_left:
                    flights_left -= 1
                    claim.progress(FOR_EVER)
            except ssl.SSLWantWriteError:
                await self.room()
                self.rest()
            except ssl.SSLError as fault:
                raise HandshakeFailed(_why(fault)) from None

    def _give_up(self, claim: Claim) -> None:
        """Others wait for the memory of a handshake that does not come to its end."""
        claim.release()
        self._fail(HandshakeFailed("it is too slow while others wait"))

    def try_receive(self, most_bytes: int) -> bytes | None:
        """As `PlainTransport`; whole records, nothing stays decrypted inside OpenSSL while the socket is silent."""
        parts: list[bytes] = []
        left = most_bytes
        while left > 0:
            try:
                part = self._sock.recv(RECORD_BYTES)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            if not part:  # seen again with the next look
                return b"".join(parts)
            parts.append(part)
            left -= len(part)
        return b"".join(parts) if parts else None

    def try_send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> int:
        view, sent = memoryview(data), 0
        try:
            while sent < len(view):
                sent += self._sock.send(view[sent : sent + CHUNK_BYTES])
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        self.sent_bytes += sent
        return sent

    def try_send_file(self, file_fd: int, position: int, size_bytes: int) -> int:
        sent = 0
        while sent < size_bytes:
            wanted = self._scratch[: min(size_bytes - sent, len(self._scratch))]
            size = os.preadv(file_fd, [wanted], position + sent)
            if size == 0:
                raise EOFError("the file ends before the slice does")
            taken = self.try_send(wanted[:size])
            sent += taken
            if taken < size:
                break
        return sent

    def close(self) -> None:
        if self._closed:
            return
        self._fail(ConnectionResetError("closed"))
        if self._tls is not None:
            with suppress(OSError, ValueError):  # tells the peer that this is the end, if the socket takes it
                self._tls.unwrap()
        super().close()


def _why(fault: ssl.SSLError) -> str:
    """OpenSSL's own word, and what it says of a certificate."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return f"the certificate is not taken: {fault.verify_message}"
    return (fault.reason or "the peer left").lower().replace("_", " ")
