"""The addresses that a client has been given for a cluster, of which any will do."""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, TypeVar

from ..config.keys.endpoints import HostPort

S = TypeVar("S")
MOST_NAMED: Final = 3
"""Servers whose reasons a sentence has; it counts the others."""


class BootstrapServers:
    """The one that answered last is asked first."""

    def __init__(self, addresses: Sequence[HostPort]) -> None:
        self._addresses = list(addresses)

    def try_each(
        self, make_step: Callable[[HostPort], S], failure: type[Exception] = OSError
    ) -> Generator[S, Any, Any]:
        """What the step gives at the first server where it does not end with a `failure`.

        Raises: a failure as that of the last server, with what each of them came to.
        """
        reasons: list[str] = []
        tried = tuple(self._addresses)  # those who ask meanwhile change the order
        for address in tried:
            try:
                return (yield make_step(address))
            except failure as fault:
                if self._addresses[0] == address:
                    self._addresses.append(self._addresses.pop(0))
                reasons.append(str(fault))
                if len(reasons) == len(tried):
                    raise type(fault)(join_reasons(reasons)) from fault
        raise AssertionError("there is a server")


def join_reasons(reasons: Sequence[str]) -> str:
    """One sentence with the first `MOST_NAMED` of them, and how many more there are."""
    more = len(reasons) - MOST_NAMED
    return "; ".join([*reasons[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
