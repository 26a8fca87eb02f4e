"""TLS between a protocol and its TCP connection, both of asyncio; docs/decisions/tls-transport.md has the reasons.

asyncio's own TLS gives OpenSSL all bytes that have come. Here the loop reads one record at a time, so the rest stays
with the kernel, and other tasks run in between.
"""

import asyncio
import ssl
from typing import cast

from ..protocol.errors import MalformedFrame
from ..protocol.tls_faults import HUNG_UP
from ..protocol.tls_records import CHUNK_BYTES, TlsBuffers, TlsRecords

MOST_UNSENT_BYTES = 4 * 1024
"""The bytes of answers to key updates that may be unsent while the broker reads nothing."""


class TlsTransport(asyncio.Transport, asyncio.BufferedProtocol):
    """The transport of `protocol`, with the methods that clients use, and the protocol of the TCP connection.

    As with asyncio's TLS, `protocol.connection_made` is called after the handshake. `connection_lost` gets an
    ssl.SSLError, MalformedFrame for records that no honest broker sends, or the error of TCP.
    """

    def __init__(self, protocol: asyncio.BaseProtocol, context: ssl.SSLContext, host: str, buffers: TlsBuffers) -> None:
        """`host`: whose certificate the broker has to show. Raises: ValueError if it is no name of a host."""
        super().__init__()
        self._protocol = protocol
        self._records = TlsRecords(context, buffers, host=host)
        self._scratch = buffers.scratch
        self._tcp: asyncio.Transport
        self._handshake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_open = self._is_paused = False
        self._fault: Exception | None = None

    async def wait_for_handshake(self) -> None:
        """Returns when the handshake is done. Raises: ssl.SSLError, OSError when the broker hangs up."""
        try:
            await self._handshake
        except BaseException:
            self.abort()
            raise

    # asyncio.Transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data)
        for at in range(0, len(view), CHUNK_BYTES):
            if self.is_closing():
                return
            try:
                self._records.encrypt_to_unsent(view[at : at + CHUNK_BYTES])
                self._send_unsent()
            except ssl.SSLError as fault:
                self._abort_with_fault(fault)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._tcp.set_write_buffer_limits(high, low)

    def pause_reading(self) -> None:
        self._tcp.pause_reading()

    def resume_reading(self) -> None:
        self._tcp.resume_reading()

    def is_closing(self) -> bool:
        return self._tcp.is_closing()

    def abort(self) -> None:
        self._tcp.abort()

    # asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._tcp = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._receive(0)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._scratch[: self._records.wanted_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        self._receive(nbytes)

    def connection_lost(self, exc: Exception | None) -> None:
        why = self._fault or exc
        if self._is_open:
            self._protocol.connection_lost(why)
        elif not self._handshake.done():
            if why is None or isinstance(why, ConnectionError):
                why = ConnectionResetError(HUNG_UP)
            self._handshake.set_exception(why)
            self._handshake.exception()  # nobody may wait for it any more
        self._records.close()
        self._protocol = asyncio.Protocol()  # its own refers to this transport: both are to be freed now

    def pause_writing(self) -> None:
        self._is_paused = True
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._is_paused = False
        self._send_unsent()
        if not self._is_paused:
            self._protocol.resume_writing()

    # inside

    def _receive(self, size: int) -> None:
        """Takes `size` bytes of the scratch: for the handshake, or decrypts them for the protocol."""
        data = b""
        try:
            if self._is_open:
                data = self._records.decrypt(self._scratch[:size])
            elif self._records.continue_handshake(self._scratch[:size]):
                self._finish_handshake()
            self._send_own_records()
        except (ssl.SSLError, MalformedFrame) as fault:
            self._abort_with_fault(fault)
            return
        if data:
            self._pass_to_protocol(data)
        if self._records.is_at_end:
            self.abort()

    def _finish_handshake(self) -> None:
        if not self._handshake.done():  # it may have been given up
            self._is_open = True
            self._protocol.connection_made(self)
            self._handshake.set_result(None)

    def _pass_to_protocol(self, data: bytes) -> None:
        protocol = self._protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            cast(asyncio.Protocol, protocol).data_received(data)
            return
        while data:
            room = memoryview(protocol.get_buffer(len(data)))
            size = min(len(room), len(data))
            room[:size] = data[:size]
            protocol.buffer_updated(size)
            data = data[size:]

    def _send_own_records(self) -> None:
        """Sends the TLS records that OpenSSL makes itself. Raises: MalformedFrame."""
        if not self._is_paused:
            self._send_unsent()
        elif len(self._records.unsent) > MOST_UNSENT_BYTES:
            raise MalformedFrame("it has TLS answer and does not read the answers")

    def _send_unsent(self) -> None:
        if unsent := self._records.take_unsent():
            self._tcp.write(unsent)

    def _abort_with_fault(self, fault: Exception) -> None:
        """Hangs up after sending an alert, if the socket takes it."""
        self._fault = self._fault or fault
        self._send_unsent()
        self.abort()
