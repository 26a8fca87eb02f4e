"""One port for each broker of the cluster, at `first.port` + its id, so that it is the same on every gateway.

The port of a broker that takes no connections is closed, and opened again at the same number: a client that connects is
refused, as by the broker's own machine, and sends no request that would be lost.
"""

import logging
from collections.abc import Callable, Container

from ...config.keys.endpoints import HIGHEST_PORT, HostPort
from ...network.clock import Clock
from ...network.log_line_limit import LogLineLimit, repetition_text
from ..upstream import MOST_KNOWN_BROKERS

BOOTSTRAP_LISTENER = "bootstrap"
MOST_FAULTS = 100
_PREFIX = "broker-"

log = logging.getLogger(__name__)


class BrokerPorts:
    """`listen` opens a port under a name and returns where that is, `stop_listening` closes it; `learn` takes the
    cluster's address of a broker. `faults`: why brokers that have no port have none. `closed`: brokers that take no
    connections."""

    def __init__(
        self,
        bind_host: str,
        advertised_host: str,
        first_port: int,
        listen: Callable[[str, str, int], tuple[str, int]],
        stop_listening: Callable[[str], None],
        learn: Callable[[int, HostPort], None],
        clock: Clock,
    ) -> None:
        self.ports: dict[int, int] = {}
        self.faults: dict[int, str] = {}
        self._bind_host = bind_host
        self._advertised_host = advertised_host
        self._first_port = first_port
        self._listen = listen
        self._stop_listening = stop_listening
        self.closed: set[int] = set()
        self._learn = learn
        self._lines = LogLineLimit(clock)

    def translate(self, broker: int, address: HostPort) -> HostPort:
        """The address here of a broker that the cluster says is there. Raises: OSError when its port cannot be had."""
        if broker < 0:
            return address
        self._learn(broker, address)
        return HostPort(self._advertised_host, self.open(broker))

    def open(self, broker: int) -> int:
        """The port of a broker, which listens from now on, unless it was closed. Raises: OSError."""
        port = self.ports.get(broker)
        if port is None:
            port = self.ports[broker] = self._open_and_note_fault(broker, lambda: self._open_first(broker))
            log.info("broker %d is at %s", broker, HostPort(self._advertised_host, port))
        return port

    def _open_and_note_fault(self, broker: int, open_port: Callable[[], int]) -> int:
        """The port that was opened; while it cannot be had, `faults` says why. Raises: OSError."""
        try:
            port = open_port()
        except OSError as fault:
            if len(self.faults) < MOST_FAULTS:
                self.faults[broker] = str(fault)
            raise
        self.faults.pop(broker, None)
        return port

    def _open_first(self, broker: int) -> int:
        if len(self.ports) >= MOST_KNOWN_BROKERS:
            raise OSError(f"no port for broker {broker}: the cluster has named {MOST_KNOWN_BROKERS} others already")
        wanted = self._first_port + broker if self._first_port else 0
        if wanted > HIGHEST_PORT:
            raise OSError(f"broker {broker} would be at port {wanted}; lower first.port")
        return self._listen_for(broker, wanted)

    def _listen_for(self, broker: int, port: int) -> int:
        try:
            return self._listen(f"{_PREFIX}{broker}", self._bind_host, port)[1]
        except OSError as fault:
            raise OSError(
                f"cannot listen on port {port} for broker {broker}: {fault.strerror or fault}; "
                "set first.port to ports that are free, or end what listens there"
            ) from None

    def close(self, broker: int) -> None:
        """Refuses connections at the port of a broker until it is opened again."""
        if broker in self.ports and broker not in self.closed:
            self.closed.add(broker)
            self._stop_listening(f"{_PREFIX}{broker}")
            log.warning("broker %d takes no connections: its port is closed until it does", broker)

    def reopen(self, broker: int) -> bool:
        """Opens the port that was closed; False where it cannot be had now."""
        if broker in self.closed:
            port = self.ports[broker]
            if not self._try_and_log_fault(
                lambda: self._open_and_note_fault(broker, lambda: self._listen_for(broker, port)), broker
            ):
                return False
            self.closed.discard(broker)
            log.info("broker %d takes connections again", broker)
        return True

    def open_missing(self, known: Container[int]) -> None:
        """Tries again to open the ports that could not be had, of the brokers that are `known`."""
        for broker in list(self.faults):
            if broker in known:
                self.try_open(broker)
            else:
                del self.faults[broker]

    def try_open(self, broker: int) -> None:
        """As `open`; a port that cannot be had is named in the log, once a minute."""
        self._try_and_log_fault(lambda: self.open(broker), broker)

    def _try_and_log_fault(self, work: Callable[[], object], broker: int) -> bool:
        try:
            work()
        except OSError as fault:
            left_out = self._lines.try_to_log(broker)
            if left_out is not None:
                log.error("%s%s", fault, repetition_text(left_out))
            return False
        return True


def broker_of_listener(listener: str) -> int | None:
    """The broker whose port has that name; None for the bootstrap port."""
    return int(listener.removeprefix(_PREFIX)) if listener.startswith(_PREFIX) else None
