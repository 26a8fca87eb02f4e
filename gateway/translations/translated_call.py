"""A request that is being translated, and what a translation may use."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ...network.clock import Clock
from ...network.turn import Turn
from ...network.worker_threads import WorkerThreads
from ...protocol.records.layout import Codec
from .held_answers import HeldAnswerMemory

T = TypeVar("T")


class AskUpstream(Protocol):
    """Sends a request on the client's connection to the cluster. Raises: CloseConnection, OSError, MalformedFrame."""

    async def __call__(
        self, request: Any, version: int, *, is_answered: bool = True, held: HeldAnswerMemory | None = None
    ) -> Any:
        """Returns the response; None if no response is due, or if `held`, the memory of earlier answers, has no room
        for it. Leave out `held` only if what is made of the response is no larger than the request."""


class CountLoss(Protocol):
    def __call__(self, what: str, count: int, topics: tuple[str, ...] = ()) -> None: ...


AskCoordinator = Callable[[str, Any, int], Awaitable[Any]]
"""Asks a group's coordinator by the gateway's own login. Raises: ClientError."""


@dataclass(slots=True)
class PartitionRotation:
    """`start`: the index of the partition at which a client's next fetch begins."""

    start: int = 0


@dataclass(slots=True, kw_only=True)
class TranslatedCall:
    """`request` came in `version` and is sent as `sent_as`. `held`: the memory of answers until the response is sent.
    `count_loss` counts what a translation cannot carry, and for which topics; `lz4_loss`: what records in LZ4 are
    counted as, "" if the client reads them; `note_refused_fetch` notes topic, partition and offset of records that the
    client gets an error for; `count_records` notes the format of records for the client report; `is_there` says whether
    the client is still connected. A loop over items asks `turn` after each of them."""

    key: int
    version: int
    sent_as: int
    request: Any
    turn: Turn
    ask_upstream: AskUpstream
    is_there: Callable[[], bool]
    ask_coordinator: AskCoordinator
    clock: Clock
    held: HeldAnswerMemory
    workers: WorkerThreads
    count_loss: CountLoss
    note_refused_fetch: Callable[[str, int, int], None]
    count_records: Callable[[memoryview], None]
    rotation: PartitionRotation = field(default_factory=PartitionRotation)
    zstd_to: Codec | None = None
    lz4_loss: str = ""

    async def ask(
        self, request: Any, version: int, *, is_answered: bool = True, held: HeldAnswerMemory | None = None
    ) -> Any:
        """Same as `AskUpstream`; the next turn begins with the answer."""
        response = await self.ask_upstream(request, version, is_answered=is_answered, held=held)
        self.turn.begin()
        return response

    async def run_in_worker(self, work: Callable[[], T]) -> T:
        """Returns what `work` makes in a worker; the next turn begins after it."""
        made = await self.workers.run(work)
        self.turn.begin()
        return made
