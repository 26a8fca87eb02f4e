"""The addresses of a cluster of which any will do: those that a client was given, then those that it has learned."""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Final, TypeVar

from ..config.keys.endpoints import HostPort

S = TypeVar("S")
MOST_NAMED: Final = 3
"""Servers, and reasons, that a sentence has; it counts the others."""
_PLACE: Final = "\0"
"""Stands for the servers in a reason."""


class BootstrapServers:
    """The one that answered last is asked first, given or learned, until it fails or is no broker any more."""

    def __init__(self, addresses: Sequence[HostPort]) -> None:
        self._given = list(addresses)
        self._learned: list[HostPort] = []
        self._answered_last: HostPort | None = None

    def add_brokers(self, brokers: Iterable[HostPort]) -> None:
        """Takes the brokers of a Metadata answer, which are asked where none that was given answers."""
        self._learned = [each for each in brokers if each not in self._given]

    def try_each(
        self, make_step: Callable[[HostPort], S], failure: type[Exception] | tuple[type[Exception], ...] = OSError
    ) -> Generator[S, Any, Any]:
        """What the step gives at the first server where it does not end with a `failure`.

        Raises: a failure as that of the last server, with what each of them came to.
        """
        reasons: list[tuple[HostPort, str]] = []
        # a list of its own: those who ask meanwhile change the order
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
    """One sentence with the first `MOST_NAMED` reasons, each once with the servers that it is of, and how many more
    there are."""
    servers: dict[str, list[str]] = {}
    for address, reason in reasons:
        servers.setdefault(reason.replace(str(address), _PLACE), []).append(str(address))
    told = [reason.replace(_PLACE, _join(of, ", ")) for reason, of in servers.items()]
    return _join(told, "; ")


def _join(texts: Sequence[str], between: str) -> str:
    more = len(texts) - MOST_NAMED
    return between.join([*texts[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])
