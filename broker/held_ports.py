"""The ports of a broker that tests stop and start: nobody else gets them in between."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ..config import Endpoint
from ..network.listener import address_in_bind_errors, bind


class HeldPorts:
    """`listeners` have the bound ports after `hold`."""

    def __init__(self, listeners: Sequence[Endpoint]) -> None:
        self.listeners = tuple(listeners)
        self._sockets: list[socket.socket] = []

    def hold(self) -> None:
        """Binds the ports, so that no other process gets them, whether the broker runs or not; connections are refused.

        Raises: OSError.
        """
        if self._sockets:
            return
        for listener in self.listeners:
            try:
                with address_in_bind_errors(listener.host, listener.port):
                    self._sockets.append(bind(listener.host, listener.port))
            except OSError:
                self.release()
                raise
        taken = [sock.getsockname()[1] for sock in self._sockets]
        self.listeners = tuple(replace(each, port=port) for each, port in zip(self.listeners, taken, strict=True))
        self._share(False)

    @contextmanager
    def let_broker_listen(self) -> Iterator[None]:
        """Within the block the broker may listen at them."""
        self._share(True)
        try:
            yield
        finally:
            self._share(False)

    def release(self) -> None:
        """Closes the sockets: other processes may bind the ports."""
        for sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def _share(self, is_shared: bool) -> None:
        for sock in self._sockets:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(is_shared))
