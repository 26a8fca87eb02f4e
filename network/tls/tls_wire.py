"""TLS over a connection's socket, with the same interface as `PlainTransport`; docs/decisions/tls-transport.md has the
reasons.

The socket is read to the end of one record; the rest stays in the kernel, which reports it again in the next pass of
the loop. Data is encrypted in chunks of 32 KiB. If the socket did not take a whole chunk, the chunk counts as not sent,
and the caller has to pass the same bytes again, as after any wait for room. So a stalled reader costs at most one
chunk, and bytes of files are read again.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from ...protocol.errors import MalformedFrame
from ...protocol.tls_faults import BROKE_OFF, NO_RECORD, describe_tls_fault
from ...protocol.tls_records import CHUNK_BYTES, HEADER_BYTES, MOST_BYTES, TlsBuffers, TlsRecords
from ..memory_budget import Claim, MemoryBudget
from ..transport import PlainTransport
from .contexts import ServerTlsObject

MOST_UNSENT_BYTES = CHUNK_BYTES + 4 * 1024
"""A chunk, and answers to key updates of the peer."""
MOST_READS = 64
"""How many headers or records are read at a time; then others have the loop."""
HANDSHAKE_BYTES = 64 * 1024
"""The memory of OpenSSL for a handshake: two record buffers, keys, messages."""
HANDSHAKE_RECORD = 22
"""The type of a record with a ClientHello."""
MOST_FLIGHTS = 4
"""A client answers at most three times (a second ClientHello, keys, certificates). A handshake that arrives a few bytes
at a time counts as progressing at most this often."""
FOR_EVER = float("inf")


class HandshakeFailed(Exception):
    """The handshake failed; the message says why."""


class TlsWire(PlainTransport):
    """A TCP socket with TLS on it."""

    sends_files = sends_in_threads = False

    def __init__(self, sock: socket.socket, loop: asyncio.AbstractEventLoop, buffers: TlsBuffers) -> None:
        super().__init__(sock, loop)
        self._buffers, self._scratch = buffers, buffers.scratch
        self._records: TlsRecords | None = None
        self._sealed_bytes = 0  # how much data the unsent records hold

    @property
    def server_name(self) -> str:
        """The host name that the client asked for in its handshake (SNI), or ""."""
        tls = self._records.tls if self._records is not None else None
        return tls.asked_name if isinstance(tls, ServerTlsObject) else ""

    @property
    def unsent_bytes(self) -> int:  # type: ignore[override]  # read only
        return len(self._records.unsent) if self._records is not None else 0

    def watch(self, on_readable: Callable[[], None]) -> None:
        super().watch(on_readable)
        if self._records is not None and self._records.is_at_end:  # the kernel does not report that
            self._loop.call_soon(on_readable)

    async def handshake(self, context: Callable[[], ssl.SSLContext], memory: MemoryBudget, owner: str) -> ssl.SSLObject:
        """Returns the TLS object after the handshake. Creates no OpenSSL object and claims no memory for `owner` before
        the first record is complete: half of a ClientHello stays in the kernel.

        Raises: HandshakeFailed, OSError when the peer has gone or the wire was closed.
        """
        await self._wait_for_first_record()
        claim = memory.try_claim(HANDSHAKE_BYTES, owner) or await memory.claim(HANDSHAKE_BYTES, owner)
        try:
            return await self._shake_hands(context(), claim)
        finally:
            claim.release()

    async def _wait_for_first_record(self) -> None:
        """Waits until the first record is complete, or cannot become one. Raises: ConnectionResetError when the peer
        has gone.
        """
        if await self._wait_and_peek(HEADER_BYTES):
            size = HEADER_BYTES + int.from_bytes(self._scratch[3:HEADER_BYTES], "big")
            if self._scratch[0] == HANDSHAKE_RECORD and size <= MOST_BYTES:
                await self._wait_and_peek(size)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

    async def _wait_and_peek(self, wanted: int) -> bool:
        """Waits until the kernel has `wanted` bytes, and peeks at them. Returns whether they are there: the wait also
        ends at the end of the stream, and when the kernel has no memory for more.
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
            await self.wait_for_bytes()
            is_told = True

    async def _shake_hands(self, context: ssl.SSLContext, claim: Claim) -> ssl.SSLObject:
        if self._closed:
            raise ConnectionResetError("closed")
        claim.allow_reclaim(lambda: self._give_up_handshake(claim))
        self._records = records = TlsRecords(context, self._buffers, is_server=True)
        flights_left, is_done, has_answered = MOST_FLIGHTS, False, False
        while not is_done:
            for _ in range(MOST_READS):
                size = self._receive_handshake_bytes(records)
                if size <= 0 or (is_done := self._advance_handshake(records, size, has_answered)):
                    break
            has_answered = has_answered or bool(records.unsent)
            await self._send_all(records)
            if is_done:
                break
            if size == 0:
                raise HandshakeFailed(BROKE_OFF if has_answered else "the peer left")
            await self.wait_for_bytes()
            if flights_left:
                flights_left -= 1
                claim.note_progress(FOR_EVER)
        return records.tls

    def _receive_handshake_bytes(self, records: TlsRecords) -> int:
        """Same as `_receive_into`; a reset counts as the end of the stream."""
        try:
            return self._receive_into(records.wanted_bytes)
        except ConnectionError:
            return 0

    def _advance_handshake(self, records: TlsRecords, size: int, has_answered: bool) -> bool:
        """Feeds the first `size` bytes of the scratch to the handshake; returns whether it is done."""
        try:
            return records.continue_handshake(self._scratch[:size])
        except ssl.SSLError as fault:
            is_no_tls = str(fault).startswith(NO_RECORD)  # a Java 0.9 client that gives up sends zeros
            why = BROKE_OFF if has_answered and is_no_tls else describe_tls_fault(fault, "the client")
            with suppress(OSError):  # an alert tells the peer
                self._try_send_unsent(records)
        raise HandshakeFailed(why)  # outside of the handler: the traceback would hold OpenSSL's memory

    async def _send_all(self, records: TlsRecords) -> None:
        while not self._try_send_unsent(records):
            await self.wait_for_room()
        self.stop_watching_room()

    def _give_up_handshake(self, claim: Claim) -> None:
        """Ends a handshake that is too slow, since others wait for its memory."""
        claim.release()
        self._fail_waits(HandshakeFailed("it is too slow while others wait"))

    def try_receive(self, most_bytes: int) -> bytes | None:
        """Same as in `PlainTransport`. Reads whole records, so that no decrypted data stays in OpenSSL unnoticed.

        Raises: MalformedFrame for too many records without data, and if the peer does not read the answers of TLS.
        """
        records = self._records
        assert records is not None, "after the handshake"
        parts: list[bytes] = []
        left = most_bytes
        for _ in range(MOST_READS):
            wanted = records.wanted_bytes
            size = 0 if records.is_at_end else self._receive_into(wanted)
            if size < 0:
                break
            data = self._decrypt(records, size) if size else b""
            if size == 0 or records.is_at_end:  # the next call sees the end again
                return b"".join(parts)
            if data:
                parts.append(data)
                left -= len(data)
            if size < wanted or left <= 0 or (not data and wanted > HEADER_BYTES):
                break
        return b"".join(parts) if parts else None

    def _receive_into(self, most_bytes: int) -> int:
        """Reads into the scratch; returns how many bytes, 0 at the end of the stream, -1 if nothing is there yet."""
        try:
            return self._sock.recv_into(self._scratch, most_bytes)
        except (BlockingIOError, InterruptedError):
            return -1

    def _decrypt(self, records: TlsRecords, size: int) -> bytes:
        """Decrypts the first `size` bytes of the scratch. Sends OpenSSL's answers as far as the socket takes them.

        Raises: MalformedFrame, OSError.
        """
        try:
            return records.decrypt(self._scratch[:size])
        finally:
            if records.unsent and not self._try_send_unsent(records) and len(records.unsent) > MOST_UNSENT_BYTES:
                raise MalformedFrame("it has TLS answer and does not read the answers")

    def _try_send_unsent(self, records: TlsRecords) -> bool:
        """Sends unsent records; returns whether the socket took all of them."""
        if records.unsent:
            records.unsent = records.unsent[super().try_send(records.unsent) :]
        return not records.unsent

    def try_send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> int:
        records = self._records
        assert records is not None, "after the handshake"
        view, sent = memoryview(data), 0
        while sent < len(view):
            if not self._sealed_bytes:
                self._sealed_bytes = records.encrypt_to_unsent(view[sent : sent + CHUNK_BYTES])
            if not self._try_send_unsent(records):
                break
            sent += self._sealed_bytes
            self._sealed_bytes = 0
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
        self._fail_waits(ConnectionResetError("closed"))
        records, self._records = self._records, None
        if records is not None:
            with suppress(OSError, ValueError):
                records.add_close_notify()
            with suppress(OSError):  # tells the peer that this is the end, if the socket takes it
                self._try_send_unsent(records)
            records.close()
        super().close()
