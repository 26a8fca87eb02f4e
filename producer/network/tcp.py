"""Connecting by TCP to a host that may have several addresses.

Who tries again goes on with the address behind the one that came to nothing: a machine that is down answers nothing at
all, so an attempt ends there when its time is over. Source: Kafka 3.9, ClusterConnectionStates (`use_all_dns_ips`).
"""

import asyncio
import ssl
from collections.abc import Callable
from ipaddress import ip_address
from socket import SOCK_STREAM


class TcpConnect:
    """A `Connect` that remembers where to go on, by host and port."""

    def __init__(self) -> None:
        self._next: dict[tuple[str, int], int] = {}

    async def __call__(
        self, protocol: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, tls: ssl.SSLContext | None = None
    ) -> None:
        """Raises: OSError, of the last address that was tried."""
        addresses, place = await _addresses(host, port), (host, port)
        for left in reversed(range(len(addresses))):
            at = self._next.get(place, 0) % len(addresses)
            self._next[place] = at + 1
            try:
                loop, name = asyncio.get_running_loop(), host if tls is not None else None
                await loop.create_connection(protocol, addresses[at], port, ssl=tls, server_hostname=name)
            except OSError as fault:
                if isinstance(fault, ssl.SSLError) or not left:
                    raise
            else:
                self._next[place] = at
                return


async def _addresses(host: str, port: int) -> list[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
        return list(dict.fromkeys(str(address[0]) for *_, address in found))
