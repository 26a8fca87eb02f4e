"""The addresses at which a client may ask any broker: first those it was given, then those it has learned."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Final, TypeVar

from ..config.keys.endpoints import HostPort

S = TypeVar("S")
MOST_NAMED: Final = 3
"""How many servers, and reasons, a sentence names; it counts the others."""
_PLACE: Final = "\0"
"""Stands for the servers in a reason."""


class BootstrapServers:
    """The server that answered last is asked first, until it fails or is no broker any more."""

    def __init__(self, addresses: Sequence[HostPort]) -> None:
        self._given = list(addresses)
        self._learned: list[HostPort] = []
        self._answered_last: HostPort | None = None

    def add_brokers(self, brokers: Iterable[HostPort]) -> None:
        """Takes the brokers of a Metadata answer; they are asked if no given server answers."""
        self._learned = [each for each in brokers if each not in self._given]

    def try_each(
        self, make_step: Callable[[HostPort], S], failure: type[Exception] | tuple[type[Exception], ...] = OSError
    ) -> Generator[S, Any, Any]:
        """Yields a step for one server after the other; returns the result of the first that does not raise `failure`.

        Raises: an exception of the last failure's type, with the reasons of all servers.
        """
        reasons: list[tuple[HostPort, str]] = []
        # a copy, since others who ask meanwhile change the order
        tried = sorted((*self._given, *self._learned), key=lambda address: address != self._answered_last)
        for address in tried:
            try:
                answer = yield make_step(address)
            except failure as fault:
                if self._answered_last == address:
                    self._answered_last = None
                reasons.append((address, str(fault)))
                if len(reasons) == len(tried):
                    raise type(fault)(join_reasons(reasons)) from fault
            else:
                self._answered_last = address
                return answer
        raise AssertionError("there is a server")


def join_reasons(reasons: Iterable[tuple[HostPort, str]]) -> str:
    """One sentence with the first `MOST_NAMED` reasons, each with its servers, and how many more there are."""
    servers: dict[str, list[str]] = {}
    for address, reason in reasons:
        servers.setdefault(reason.replace(str(address), _PLACE), []).append(str(address))
    told = [reason.replace(_PLACE, _join(of, ", ")) for reason, of in servers.items()]
    return _join(told, "; ")


def _join(texts: Sequence[str], between: str) -> str:
    more = len(texts) - MOST_NAMED
    return between.join([*texts[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
