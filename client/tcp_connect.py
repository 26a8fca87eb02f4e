"""Connecting by TCP, and TLS, to a host that may have several addresses.

Each attempt begins at the address that worked last, or after the one that failed last: a machine that is down does not
answer at all, so an attempt may spend all its time on one address. Source: Kafka 3.9,
ClusterConnectionStates (`use_all_dns_ips`).
"""

import asyncio
import ssl
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from ..protocol.tls_records import TlsBuffers
from .host_lookups import HostLookups
from .tls_transport import TlsTransport

MOST_PLACES = 1_000
"""How many hosts and ports are remembered: a cluster may name ever new hosts."""
MakeProtocol = Callable[[], asyncio.BaseProtocol]


class Connect(Protocol):
    """Opens a connection; has no timeout of its own. Raises: OSError, which includes ssl.SSLError; ValueError for an
    invalid host name."""

    async def __call__(self, protocol: MakeProtocol, host: str, port: int, *, tls: ssl.SSLContext | None) -> object: ...


class TcpConnect:
    """A `Connect` that remembers by host and port which address to try next. Its TLS connections share buffers, so all
    of them have to be of one event loop."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, int], int] = {}
        self._lookups = HostLookups()

    @cached_property
    def _tls_buffers(self) -> TlsBuffers:
        return TlsBuffers()

    async def __call__(
        self, protocol: MakeProtocol, host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> None:
        """Raises: OSError, of the last address that was tried."""
        addresses, place = await self._lookups.find_addresses(host, port), (host, port)
        if len(self._next) >= MOST_PLACES:
            self._next.clear()
        for left in reversed(range(len(addresses))):
            at = self._next.get(place, 0) % len(addresses)
            self._next[place] = at + 1
            try:
                if tls is None:
                    await asyncio.get_running_loop().create_connection(protocol, addresses[at], port)
                else:
                    await self._connect_tls(TlsTransport(protocol(), tls, host, self._tls_buffers), addresses[at], port)
            except OSError as fault:
                if isinstance(fault, ssl.SSLError) or not left:
                    raise
            else:
                self._next[place] = at
                return

    async def _connect_tls(self, transport: TlsTransport, address: str, port: int) -> None:
        await asyncio.get_running_loop().create_connection(lambda: transport, address, port)
        await transport.wait_for_handshake()
