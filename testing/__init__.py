"""Brokers for tests: settings come in, a broker in the test's own process goes out, and what a test asks of it.

    with stepdown.running() as kafka:
        kafka.produce("orders", b"one")
        assert [record.value for record in kafka.records("orders")] == [b"one"]

`running` starts one, `Kafka` is what a test holds; `running_async` and `AsyncKafka` are the same, awaited; the pytest
plugin has fixtures.
A name is imported when it is asked for: every pytest where stepdown is installed loads the plugin, which lies here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..broker.faults.request_hook import CLOSE, PASS, SILENCE, HookedRequest
    from ..client.errors import KafkaError, NoAnswer
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
    "running",
    "running_async",
]

MODULES = {
    "AsyncKafka": ".async_kafka",
    "Kafka": ".kafka",
    "Partition": ".partition",
    "TestRecord": ".record_comparison",
    **dict.fromkeys(("Running", "RunningAsync", "running", "running_async"), ".running_brokers"),
    **dict.fromkeys(("KafkaError", "NoAnswer"), "..client.errors"),
    "ControlFailed": ".control_client",
    **dict.fromkeys(("CLOSE", "PASS", "SILENCE", "HookedRequest"), "..broker.faults.request_hook"),
}


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(MODULES[name], __name__), name)
    return value
