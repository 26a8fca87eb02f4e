"""How records and batches end, and who is told."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ..delivery import UNKNOWN_OFFSET, RecordMetadata
from ..errors import FOREIGN_FAULTS, ProducerError

Callback = Callable[[RecordMetadata, ProducerError | None], object]


class Interceptor(Protocol):
    """Sees each record's end, before its callback does."""

    def on_acknowledgement(self, metadata: RecordMetadata, error: ProducerError | None) -> None: ...


class Outcome(NamedTuple):
    """How a batch ended. `append_time` is -1 unless the topic stamps records itself; `failures` is by record."""

    base_offset: int = UNKNOWN_OFFSET
    append_time: int = -1
    error: ProducerError | None = None
    failures: dict[int, ProducerError] | None = None


def telling(interceptors: Sequence[Interceptor], callback: Callback | None) -> Callback:
    """A callback that tells the interceptors first."""

    def tell(metadata: RecordMetadata, error: ProducerError | None) -> None:
        for interceptor in interceptors:
            guarded(interceptor.on_acknowledgement, metadata, error)
        if callback is not None:
            guarded(callback, metadata, error)

    return tell


def guarded(call: Callback, metadata: RecordMetadata, error: ProducerError | None) -> None:
    """Calls: user code must not break the sender: what it raises goes to the loop's exception handler."""
    try:
        call(metadata, error)
    except FOREIGN_FAULTS as fault:
        context = {"message": f"a callback for {metadata.topic}-{metadata.partition} failed", "exception": fault}
        asyncio.get_running_loop().call_exception_handler(context)
