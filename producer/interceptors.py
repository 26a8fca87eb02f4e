"""Calls interceptors and callbacks of an application, whose errors must not break the sender."""

import asyncio
from collections.abc import Sequence

from .delivery import Callback, RecordMetadata
from .errors import FOREIGN_FAULTS, ProducerError
from .record import ProducerInterceptor


def make_callback_after_interceptors(
    interceptors: Sequence[ProducerInterceptor], callback: Callback | None
) -> Callback:
    """A callback that calls the interceptors, then `callback`."""

    def call_all(metadata: RecordMetadata, error: ProducerError | None) -> None:
        for interceptor in interceptors:
            call_safely(interceptor.on_acknowledgement, metadata, error)
        if callback is not None:
            call_safely(callback, metadata, error)

    return call_all


def call_safely(call: Callback, metadata: RecordMetadata, error: ProducerError | None) -> None:
    """Calls `call`; passes its exceptions to the exception handler of the loop."""
    try:
        call(metadata, error)
    except FOREIGN_FAULTS as fault:
        context = {"message": f"a callback for {metadata.topic}-{metadata.partition} failed", "exception": fault}
        asyncio.get_running_loop().call_exception_handler(context)
