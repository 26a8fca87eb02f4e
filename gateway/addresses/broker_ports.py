"""One port for each broker of the cluster, at `first.port` + its id, so that it is the same on every gateway.

While a broker takes no connections, its port is closed, and later opened again with the same number. So clients are
refused as by the broker's own machine, and send no request that would be lost.
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
    """`listen` opens a port under a name and returns its address; `stop_listening` closes it; `learn` takes the
    cluster's address of a broker. `faults`: by broker, why its port cannot be opened. `closed`: brokers that take no
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
        """Returns the gateway's address of a broker, opening its port. Raises: OSError when it cannot be opened."""
        if broker < 0:
            return address
        self._learn(broker, address)
        return HostPort(self._advertised_host, self.open(broker))

    def open(self, broker: int) -> int:
        """Returns the port of a broker, which is opened if it has none yet. Raises: OSError."""
        port = self.ports.get(broker)
        if port is None:
            port = self.ports[broker] = self._open_and_note_fault(broker, lambda: self._open_first(broker))
            log.info("broker %d is at %s", broker, HostPort(self._advertised_host, port))
        return port

    def _open_and_note_fault(self, broker: int, open_port: Callable[[], int]) -> int:
        """Returns the port that `open_port` opens. If that fails, notes why in `faults` and raises: OSError."""
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
        """Closes the port of a broker until `reopen`."""
        if broker in self.ports and broker not in self.closed:
            self.closed.add(broker)
            self._stop_listening(f"{_PREFIX}{broker}")
            log.warning("broker %d takes no connections: its port is closed until it does", broker)

    def reopen(self, broker: int) -> bool:
        """Opens a port that was closed; returns False if it cannot be opened now."""
        if broker in self.closed:
            port = self.ports[broker]
            if not self._try_and_log_fault(
                lambda: self._open_and_note_fault(broker, lambda: self._listen_for(broker, port)), broker
            ):
                return False
            self.closed.discard(broker)
            log.info("broker %d takes connections again", broker)
        return True

    def retry_failed(self, known: Container[int]) -> None:
        """Tries again to open the ports in `faults`; forgets the faults of brokers that are not `known`."""
        for broker in list(self.faults):
            if broker in known:
                self.try_open(broker)
            else:
                del self.faults[broker]

    def try_open(self, broker: int) -> None:
        """As `open`, but logs a port that cannot be opened, once a minute."""
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
    """The broker of that listener; None for the bootstrap listener."""
    return int(listener.removeprefix(_PREFIX)) if listener.startswith(_PREFIX) else None
