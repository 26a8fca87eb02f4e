"""The other end of a connection."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ..config.keys.ip_address import network_of
from ..protocol.api import ApiKey
from .clients.seen_client import SeenClient
from .principal import ANONYMOUS, KafkaPrincipal
from .sasl.exchange import SaslExchange
from .turn import Turn, Turns


def do_nothing_with_frame(end_wait: Callable[[], None] | None = None) -> None:
    """Does nothing: there is no frame."""


@dataclass(slots=True, kw_only=True)
class Peer:
    """The client at the other end. `principal`: the identity that its listener has authenticated.

    `server_name`: the host name that it asked for in its TLS handshake. `sasl`: its login, if the listener needs one.
    `on_leave`, if set, is called when it sends no more.

    A handler whose request waits for others calls one of these, to give up the memory of the request:
    `release_frame` frees the memory at once.
    `release_parsed_request` frees the memory of the parsed request and keeps that of its frame.
    `allow_frame_reclaim` keeps the memory until others need it; then it calls the function that it was given, which
    ends the wait, or without one closes the connection.

    `latest_request`: its API, its version and the bytes of its body. `turn`: limits its time in the event loop.
    `seen`: counts its requests.
    """

    host: str
    port: int
    listener: str
    principal: KafkaPrincipal = ANONYMOUS
    server_name: str = ""
    sasl: SaslExchange | None = None
    client_id: str = ""
    software_name: str = "unknown"
    software_version: str = "unknown"
    latest_request: tuple[ApiKey, int, int] | None = None
    seen: SeenClient = field(default_factory=SeenClient, repr=False, compare=False)
    on_leave: Callable[[], None] | None = None
    has_left: bool = False
    release_frame: Callable[[], None] = field(default=do_nothing_with_frame, repr=False, compare=False)
    release_parsed_request: Callable[[], None] = field(default=do_nothing_with_frame, repr=False, compare=False)
    allow_frame_reclaim: Callable[[Callable[[], None] | None], None] = field(
        default=do_nothing_with_frame, repr=False, compare=False
    )
    turn: Turn = field(default_factory=lambda: Turn(Turns()), repr=False, compare=False)

    @property
    def network(self) -> str:
        """The network whose share of memory, places and log lines this connection uses."""
        return network_of(self.host)

    def note_departure(self) -> None:
        """Takes note that the client sends no more, so that work for it may stop."""
        self.has_left = True
        if self.on_leave is not None:
            self.on_leave()

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"
