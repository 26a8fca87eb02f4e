"""TLS over a connection's socket, with the same interface as `PlainTransport`; docs/decisions/tls-transport.md has the
reasons.

The socket is read to the end of one record, so the rest stays in the kernel, which shows it again in
the next pass of the loop. What is sent is encrypted 32 KiB at a time; if the socket did not take all of them they count
as not sent, and are expected again, as all do that may wait for room. So a stalled reader holds the rest of 32 KiB, and
a file's bytes are read from it again.
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
"""A chunk, and answers to keys that the peer renews."""
MOST_READS = 64
"""Read at a time, of a header or a record: then others have the loop."""
HANDSHAKE_BYTES = 64 * 1024
"""What OpenSSL holds of a handshake that is under way: two buffers of a record, keys, messages."""
HANDSHAKE_RECORD = 22
"""The type of a record with a ClientHello."""
MOST_FLIGHTS = 4
"""A client answers three times at most (a second ClientHello, keys, certificates); what comes drop by drop counts no
more often as something that goes on."""
FOR_EVER = float("inf")


class HandshakeFailed(Exception):
    """No TLS with this peer; the message says why."""


class TlsWire(PlainTransport):
    """A TCP socket on which the peer begins with TLS."""

    sends_files = sends_in_threads = False

    def __init__(self, sock: socket.socket, loop: asyncio.AbstractEventLoop, buffers: TlsBuffers) -> None:
        super().__init__(sock, loop)
        self._buffers, self._scratch = buffers, buffers.scratch
        self._records: TlsRecords | None = None
        self._sealed_bytes = 0  # of data, in the records that are unsent

    @property
    def server_name(self) -> str:
        """The host name that the peer has asked for in its handshake (SNI), "" if none."""
        tls = self._records.tls if self._records is not None else None
        return tls.asked_name if isinstance(tls, ServerTlsObject) else ""

    @property
    def unsent_bytes(self) -> int:  # type: ignore[override]  # read only
        return len(self._records.unsent) if self._records is not None else 0

    def watch(self, on_readable: Callable[[], None]) -> None:
        super().watch(on_readable)
        if self._records is not None and self._records.is_at_end:  # which the kernel does not tell
            self._loop.call_soon(on_readable)

    async def handshake(self, context: Callable[[], ssl.SSLContext], memory: MemoryBudget, owner: str) -> ssl.SSLObject:
        """Returns the TLS side when the peer is as it has to be. OpenSSL is asked for nothing, and no memory is
        claimed for `owner`, before the first record is whole: half of a ClientHello stays with the kernel.

        Raises: HandshakeFailed, OSError when the peer has gone or the wire was closed.
        """
        await self._wait_for_first_record()
        claim = memory.try_claim(HANDSHAKE_BYTES, owner) or await memory.claim(HANDSHAKE_BYTES, owner)
        try:
            return await self._shake_hands(context(), claim)
        finally:
            claim.release()

    async def _wait_for_first_record(self) -> None:
        """Returns when the first record is there, or what is no record, or the peer sends no more."""
        if await self._peek_at(HEADER_BYTES):
            size = HEADER_BYTES + int.from_bytes(self._scratch[3:HEADER_BYTES], "big")
            if self._scratch[0] == HANDSHAKE_RECORD and size <= MOST_BYTES:
                await self._peek_at(size)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)

    async def _peek_at(self, wanted: int) -> bool:
        """Waits until the kernel has `wanted` bytes, and peeks at them; whether they are there.

        The wait also ends with the stream, and when the kernel has no memory for more.
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
                size = self._receive_in_handshake(records)
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
                claim.progress(FOR_EVER)
        return records.tls

    def _receive_in_handshake(self, records: TlsRecords) -> int:
        """As `_receive_into`; who resets the connection has left."""
        try:
            return self._receive_into(records.wanted_bytes)
        except ConnectionError:
            return 0

    def _advance_handshake(self, records: TlsRecords, size: int, has_answered: bool) -> bool:
        """Whether the handshake is done with the first `size` bytes of the scratch."""
        try:
            return records.continue_handshake(self._scratch[:size])
        except ssl.SSLError as fault:
            is_no_tls = str(fault).startswith(NO_RECORD)  # Java 0.9 sends zeros where it gives up
            why = BROKE_OFF if has_answered and is_no_tls else describe_tls_fault(fault, "the client")
            with suppress(OSError):  # an alert tells the peer
                self._try_send_unsent(records)
        raise HandshakeFailed(why)  # without the other one, whose traceback holds what OpenSSL does

    async def _send_all(self, records: TlsRecords) -> None:
        while not self._try_send_unsent(records):
            await self.wait_for_room()
        self.stop_watching_room()

    def _give_up_handshake(self, claim: Claim) -> None:
        """Others wait for the memory of a handshake that does not come to its end."""
        claim.release()
        self._fail_waits(HandshakeFailed("it is too slow while others wait"))

    def try_receive(self, most_bytes: int) -> bytes | None:
        """As `PlainTransport`; whole records, nothing stays decrypted inside OpenSSL while the socket is silent.

        Raises: MalformedFrame for too many records without data, or with answers that the peer does not read.
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
            if size == 0 or records.is_at_end:  # seen again with the next look
                return b"".join(parts)
            if data:
                parts.append(data)
                left -= len(data)
            if size < wanted or left <= 0 or (not data and wanted > HEADER_BYTES):
                break
        return b"".join(parts) if parts else None

    def _receive_into(self, most_bytes: int) -> int:
        """How many bytes came into the scratch; 0 at the end of the stream, -1 when nothing is there yet."""
        try:
            return self._sock.recv_into(self._scratch, most_bytes)
        except (BlockingIOError, InterruptedError):
            return -1

    def _decrypt(self, records: TlsRecords, size: int) -> bytes:
        """The data in the first `size` bytes of the scratch. OpenSSL's answers are sent as far as possible.

        Raises: MalformedFrame, OSError.
        """
        try:
            return records.decrypt(self._scratch[:size])
        finally:
            if records.unsent and not self._try_send_unsent(records) and len(records.unsent) > MOST_UNSENT_BYTES:
                raise MalformedFrame("it has TLS answer and does not read the answers")

    def _try_send_unsent(self, records: TlsRecords) -> bool:
        """Whether the socket took all of it."""
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
