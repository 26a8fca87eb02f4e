"""Ports at which several processes listen: the kernel gives each connection to one of them (SO_REUSEPORT).

    worker → supervisor    {"name": "broker-3", "host": "0.0.0.0", "port": 0}    one packet
    supervisor → worker    {"error": ""}, with the descriptor of a bound socket

The supervisor keeps a socket of each port, which does not listen: so the port of a name stays the same as long as it
runs, and a port on which another program listens is refused; SO_REUSEPORT alone would share it with that program.
"""

import json
import socket
from collections.abc import Mapping
from typing import Any

from ...network.listener import bind

MOST_PACKET_BYTES = 4096
ANSWER_S = 30.0
"""For how long a worker waits for the supervisor, which has to answer at once."""


class SharedPorts:
    """The supervisor's side: the ports by the names of their listeners."""

    def __init__(self) -> None:
        self._kept: dict[str, socket.socket] = {}

    def answer_worker(self, channel: socket.socket) -> None:
        """Answers what a worker has asked at its end of `channel`. Raises: OSError when the worker has gone."""
        packet = channel.recv(MOST_PACKET_BYTES)
        if not packet:
            raise ConnectionResetError("the worker has gone")
        asked = json.loads(packet)
        try:
            with self.open(asked["name"], asked["host"], asked["port"]) as sock:
                socket.send_fds(channel, [_to_json_bytes({"error": ""})], [sock.fileno()])
        except OSError as fault:
            channel.send(_to_json_bytes({"error": fault.strerror or str(fault)}))

    def open(self, name: str, host: str, port: int) -> socket.socket:
        """Returns a new socket bound to the port of this name. The first call chooses the port; later ones reuse it.

        Raises: OSError.
        """
        kept = self._kept.get(name)
        if kept is None:
            if port:
                bind(host, port).close()  # nobody else listens there
            kept = self._kept[name] = bind(host, port, is_shared=True)
        return bind(host, kept.getsockname()[1], is_shared=True)

    def close(self) -> None:
        for kept in self._kept.values():
            kept.close()


class PortChannel:
    """A worker's side: `bind` is what a `Server` of the worker binds its listeners with."""

    def __init__(self, channel: socket.socket) -> None:
        channel.settimeout(ANSWER_S)
        self._channel = channel

    def bind(self, name: str, host: str, port: int) -> socket.socket:
        """A bound socket. Waits for the supervisor, once for each listener. Raises: OSError."""
        self._channel.send(_to_json_bytes({"name": name, "host": host, "port": port}))
        packet, descriptors, _, _ = socket.recv_fds(self._channel, MOST_PACKET_BYTES, 1)
        if not packet:
            raise ConnectionResetError("the supervisor has gone")
        error = json.loads(packet)["error"]
        if error or not descriptors:
            raise OSError(0, error or "the supervisor sent no socket")
        return socket.socket(fileno=descriptors[0])


def _to_json_bytes(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode()
