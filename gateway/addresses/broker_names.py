"""One host name for each broker of the cluster, all at one port: TLS says which one a client means (SNI)."""

import re
from collections.abc import Callable

from ...config.keys.endpoints import HostPort

PLACE = "{id}"
"""Stands for the broker's id in the pattern of names."""


def compile_name_pattern(pattern: str) -> re.Pattern[str]:
    """Returns a pattern that matches the names of brokers; its first group is the id."""
    before, _, behind = pattern.partition(PLACE)
    return re.compile(f"{re.escape(before)}([0-9]{{1,9}}){re.escape(behind)}", re.IGNORECASE | re.ASCII)


class BrokerNames:
    """`pattern`: the names of brokers. `advertise` returns the address of the bootstrap port, whose port all brokers
    have. `learn` takes the cluster's address of a broker."""

    def __init__(self, pattern: str, advertise: Callable[[], HostPort], learn: Callable[[int, HostPort], None]) -> None:
        self._pattern = pattern
        self._name = compile_name_pattern(pattern)
        self._advertise = advertise
        self._learn = learn

    def translate(self, broker: int, address: HostPort) -> HostPort:
        """Returns the gateway's address of a broker, whose `address` in the cluster it passes to `learn`."""
        if broker < 0:
            return address
        self._learn(broker, address)
        return HostPort(self._pattern.replace(PLACE, str(broker)), self._advertise().port)

    def broker_of(self, server_name: str) -> int | None:
        """The broker with that name, None for the bootstrap name and others."""
        found = self._name.fullmatch(server_name.removesuffix("."))
        return int(found[1]) if found is not None else None
