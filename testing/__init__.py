"""Brokers for tests: starts them in the test's own process, and offers what tests ask of them.

    with stepdown.running() as kafka:
        kafka.produce("orders", b"one")
        assert [record.value for record in kafka.records("orders")] == [b"one"]

`running` starts brokers and yields a `Kafka`; `running_async` and `AsyncKafka` are the same for asyncio; the pytest
plugin has fixtures.
Names are imported lazily: every pytest where stepdown is installed loads the plugin in this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..broker.faults.request_hook import CLOSE, PASS, SILENCE, HookedRequest
    from ..client.errors import KafkaError, NoAnswer, Unreachable
    from .async_kafka import AsyncKafka
    from .control_client import ControlFailed
    from .kafka import Kafka
    from .partition import Partition
    from .record_comparison import TestRecord
    from .running_brokers import Running, RunningAsync, running, running_async

__all__ = [
    "CLOSE",
    "PASS",
    "SILENCE",
    "AsyncKafka",
    "ControlFailed",
    "HookedRequest",
    "Kafka",
    "KafkaError",
    "NoAnswer",
    "Partition",
    "Running",
    "RunningAsync",
    "TestRecord",
    "Unreachable",
    "running",
    "running_async",
]

MODULES = {
    "AsyncKafka": ".async_kafka",
    "Kafka": ".kafka",
    "Partition": ".partition",
    "TestRecord": ".record_comparison",
    **dict.fromkeys(("Running", "RunningAsync", "running", "running_async"), ".running_brokers"),
    **dict.fromkeys(("KafkaError", "NoAnswer", "Unreachable"), "..client.errors"),
    "ControlFailed": ".control_client",
    **dict.fromkeys(("CLOSE", "PASS", "SILENCE", "HookedRequest"), "..broker.faults.request_hook"),
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(MODULES[name], __name__), name)
    return value
