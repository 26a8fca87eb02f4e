"""One address for all brokers: clients see the ids of the cluster's brokers, all at the same host and port."""

from collections.abc import Callable

from ...config.keys.endpoints import HostPort


class SingleAddress:
    """`advertise` returns the one address; `learn` takes the cluster's address of a broker."""

    def __init__(self, advertise: Callable[[], HostPort], learn: Callable[[int, HostPort], None]) -> None:
        self._advertise = advertise
        self._learn = learn

    def translate(self, broker: int, address: HostPort) -> HostPort:
        """Returns the gateway's address of a broker, whose `address` in the cluster it passes to `learn`."""
        if broker < 0:
            return address
        self._learn(broker, address)
        return self._advertise()
