"""Looks up the addresses of hosts in daemon threads, so a resolver that hangs does not delay the end of the process.

The event loop's own `getaddrinfo` has a few threads, which one such host could block for all others, and which are
awaited when the loop is closed.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from threading import Thread


class HostLookups:
    """Lookups of the same host at the same time share a thread."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, int], asyncio.Future[list[str]]] = {}

    async def find_addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host. Raises: OSError, ValueError for an invalid name."""
        try:
            return [str(ip_address(host))]
        except ValueError:
            found = self._running.get((host, port)) or self._start(host, port)
            return await asyncio.shield(found)

    def _start(self, host: str, port: int) -> asyncio.Future[list[str]]:
        loop = asyncio.get_running_loop()
        found = self._running[host, port] = loop.create_future()
        found.add_done_callback(lambda _: self._running.pop((host, port)))

        def tell(settle: Callable[[], None]) -> None:
            if not found.cancelled():
                settle()

        def look_up() -> None:
            try:
                addresses = _look_up(host, port)
            except Exception as fault:
                settle = partial(found.set_exception, fault)
            else:
                settle = partial(found.set_result, addresses)
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(tell, settle)

        Thread(target=look_up, name="host lookup", daemon=True).start()
        return found


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
