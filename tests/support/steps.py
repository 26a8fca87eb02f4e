"""One request of a script that is sent to two brokers."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A request and its version."""

    name: str
    request: Any
    version: int
    reads: bool = True


def each_version(
    name: str, request: Any | Callable[[int], Any], versions: Iterable[int], *, reads: bool = True
) -> Iterator[Step]:
    for version in versions:
        made = request(version) if callable(request) else request
        yield Step(name=f"{name} v{version}", request=made, version=version, reads=reads)
