"""What each server that is measured offers, and the peer that `--peer` names, to compare stepdown with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ..failures import BenchFailure
from .kafka import KafkaServer, OldKafkaServer
from .maven import MavenStore
from .process import Usage
from .tls_listener import TlsListener
from .virtual_network import LOOPBACK, Network

PEERS = ("none", "kafka:3.9.1", "kafka:1.1.1")


class Contender(Protocol):
    """A broker in a process of its own. `address` may change with each start; `http` is "" where it has no /metrics.

    `tls`: a listener that it has beside that.
    """

    name: str
    version: str
    address: str
    http: str
    tls: TlsListener | None

    @property
    def usage(self) -> Usage: ...
    @property
    def has_ended(self) -> bool: ...
    @property
    def log(self) -> str: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


def make_peer(
    name: str,
    folder: Path,
    maven: MavenStore,
    properties: Mapping[str, str],
    heap: str,
    network: Network = LOOPBACK,
    certificates: str = "",
) -> Contender | None:
    """The server that `--peer` names, not started; None for "none". Raises: BenchFailure for a name not in `PEERS`."""
    if name == "none":
        return None
    if name == "kafka:3.9.1":
        return KafkaServer(folder, maven, properties=properties, heap=heap, network=network, certificates=certificates)
    if name == "kafka:1.1.1":
        if network.enter:
            raise BenchFailure("kafka:1.1.1 runs over loopback only, where its ZooKeeper is")
        if certificates:
            raise BenchFailure("kafka:1.1.1 reads no PEM; --security SSL is for kafka:3.9.1")
        return OldKafkaServer(folder, maven, properties=properties, heap=heap)
    raise BenchFailure(f"no peer is called {name}; there is {', '.join(PEERS)}")
