"""Connects a `Kafka` to brokers in other processes."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..client.security.settings import OPEN, SecuritySettings
from .async_kafka import AsyncKafka
from .control_client import ControlClient
from .kafka import Kafka
from .loop_thread import LoopThread
from .security.client_settings import ClientSettings


@contextmanager
def connect(
    bootstrap: str,
    control: ControlClient | None = None,
    clients: ClientSettings | None = None,
    security: SecuritySettings = OPEN,
) -> Iterator[Kafka]:
    """Yields a `Kafka` with its connections in a thread; closes both at the end."""
    thread = LoopThread()
    try:
        kafka = Kafka(AsyncKafka(bootstrap, control, clients, security, loop=thread.loop), thread)
        yield kafka
        kafka.close()
    finally:
        thread.stop()
