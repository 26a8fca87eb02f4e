"""One host name for each broker of the cluster, all at one port: TLS says which name a client means (SNI)."""

import re
from collections.abc import Callable

from ...config.keys.endpoints import HostPort

PLACE = "{id}"
"""Where the id of the broker stands in the pattern of their names."""


def compile_name_pattern(pattern: str) -> re.Pattern[str]:
    """Matches the names of brokers, the first group being the id."""
    before, _, behind = pattern.partition(PLACE)
    return re.compile(f"{re.escape(before)}([0-9]{{1,9}}){re.escape(behind)}", re.IGNORECASE | re.ASCII)


class BrokerNames:
    """`pattern` gives the name of a broker; `advertise`, the address of the bootstrap port, whose port all have;
    `learn` takes the cluster's address of a broker."""

    def __init__(self, pattern: str, advertise: Callable[[], HostPort], learn: Callable[[int, HostPort], None]) -> None:
        self._pattern = pattern
        self._name = compile_name_pattern(pattern)
        self._advertise = advertise
        self._learn = learn

    def translate(self, broker: int, address: HostPort) -> HostPort:
        """The address here of a broker that the cluster says is there."""
        if broker < 0:
            return address
        self._learn(broker, address)
        return HostPort(self._pattern.replace(PLACE, str(broker)), self._advertise().port)

    def broker_of(self, server_name: str) -> int | None:
        """The broker that a client means by that name; None: any."""
        found = self._name.fullmatch(server_name.removesuffix("."))
        return int(found[1]) if found is not None else None
